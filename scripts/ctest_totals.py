#!/usr/bin/env python3
"""Totals of a ctest run: ctest_totals.py JUNIT LOG. Prints what failed with its output, then the totals."""
import sys
import xml.etree.ElementTree as xml


def main():
    junit, log = sys.argv[1:]
    try:
        cases = xml.parse(junit).getroot().findall("testcase")
    except (OSError, xml.ParseError) as error:
        print(f"ctest wrote no result ({error}); the end of {log}:")
        with open(log, errors="replace") as text:
            print("".join(text.readlines()[-30:]))
        cases = []
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in cases:
        status = case.get("status")
        kind = {"run": "passed", "fail": "failed"}.get(status, "skipped")
        counts[kind] += 1
        if kind == "failed":
            print(f"FAIL {case.get('name')}")
            output = case.findtext("system-out") or ""
            print("     " + output.strip()[-4000:].replace("\n", "\n     "))
    if not cases:
        counts["failed"] = 1
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))


if __name__ == "__main__":
    main()
