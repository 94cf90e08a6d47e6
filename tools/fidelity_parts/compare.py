"""Predicted against observed, row by row."""
from observe import reason

AGREES = "agrees"


def compare(predicted, observed):
    """(verdict, what differs). The verdict is AGREES or the name of a kind of disagreement."""
    if observed["died"] is not None:
        # Linking is what is predicted; what a constructor does afterwards is not.
        linked = observed["libraries"] == [] and observed["symbols"] == [] and not observed["stopped"]
        return (AGREES, "") if linked and predicted["status"] == "loads" else ("died", "")
    if predicted["status"] not in ("loads", "fails"):
        return "not decided", predicted["status"]
    if observed["error"] is None:
        return (AGREES, "") if predicted["status"] == "loads" else ("false alarm", "")
    if predicted["status"] == "loads":
        return "missed failure", ""
    return compare_failures(predicted, observed)


def compare_failures(predicted, observed):
    kind, name = reason(observed["error"])
    if kind == "import":
        # The roots that it opens have rows of their own, where the reasons are compared.
        return AGREES, ""
    if kind == "library":
        if observed["libraries"] is not None and set(observed["libraries"]) != set(predicted["libraries"]):
            return "other libraries", difference(predicted["libraries"], observed["libraries"])
        if predicted["libraries"][:1] != [name]:
            return "other first library", f"predicted {predicted['libraries'][:1]}, observed {name}"
        return AGREES, ""
    if predicted["libraries"]:
        return "other reason", f"predicted missing {predicted['libraries']}"
    if kind == "version":
        known = [each.split(" ", 1)[0] for each in predicted["versions"]]
        return (AGREES, "") if name in known else ("other reason", f"version {name}, predicted {known}")
    if kind == "symbol":
        if name not in predicted["symbols"]:
            return "other symbols", f"first missing {name} is not predicted"
        if observed["symbols"] is not None and not observed["stopped"] \
                and set(observed["symbols"]) != set(predicted["symbols"]):
            return "other symbols", difference(predicted["symbols"], observed["symbols"])
        return AGREES, ""
    return "other reason", name


def difference(predicted, observed):
    only_predicted, only_observed = set(predicted) - set(observed), set(observed) - set(predicted)
    parts = []
    if only_predicted:
        parts.append(f"only predicted ({len(only_predicted)}): {shortened(only_predicted)}")
    if only_observed:
        parts.append(f"only observed ({len(only_observed)}): {shortened(only_observed)}")
    return "; ".join(parts)


def shortened(names, most=6):
    names = sorted(names)
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def outcome(observed):
    """One word or two for the counts."""
    if observed["died"] is not None:
        return "linked, then died"
    if observed["error"] is None:
        return "loads"
    kind = reason(observed["error"])[0]
    return {"other": "other error", "import": "import fails"}.get(kind, f"missing {kind}")
