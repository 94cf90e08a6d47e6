class PackError(Exception):
    pass
