#!/usr/bin/env python3
"""Remake analyzer/input/casefold.inc: one-to-one case folding (Unicode CaseFolding.txt, statuses C and S)
as ranges, from the Unicode data of this Python.

usage: casefold.py -o FILE
"""
import argparse
import sys
import unicodedata


def folded(code):
    text = chr(code).casefold()
    if len(text) != 1:  # a full folding, such as that of sharp s: the simple one is the lower case
        text = chr(code).lower()
    return ord(text) if len(text) == 1 else code


def ranges():
    """(first, last, step, difference) of runs of characters that fold by the same difference."""
    runs = []
    for code in range(0x80, sys.maxunicode + 1):
        if 0xD800 <= code <= 0xDFFF or folded(code) == code:
            continue
        difference = folded(code) - code
        if runs:
            first, last, step, known = runs[-1]
            here = code - last
            if known == difference and here <= 2 and (here == step or first == last):
                runs[-1] = (first, code, here, known)
                continue
        runs.append((code, code, 1, difference))
    return runs


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("-o", "--output", required=True)
    output = arguments.parse_args().output
    with open(output, "w") as out:
        out.write("// First and last character, step, and what is added to fold the case.\n"
                  f"// Unicode {unicodedata.unidata_version}, made by tools/rules/casefold.py.\n")
        for first, last, step, difference in ranges():
            out.write(f"{{{first:#x}, {last:#x}, {step}, {difference}}},\n")


main()
