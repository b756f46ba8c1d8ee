"""Asks the scanner's own functions for the ids of cases on standard input."""
import io
import itertools
import json
import sys
from pathlib import Path
from types import SimpleNamespace

from semgrep.rule import Rule
from semgrep.rule_match import RuleMatch


def lines(text):
    """The lines as the scanner reads them from a file."""
    return list(io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))


def ids(case):
    rule = Rule.__new__(Rule)
    rule._raw, rule._id = case["rule"], case["name"]
    metavars = {name: SimpleNamespace(abstract_content=content) for name, content in case["metavars"]}
    match = SimpleNamespace(
        path=Path(case["path"]), rule_id=case["name"], lines=lines(case["lines"]), index=case["index"], match_based_index=case["index"],
        match_formula_string=Rule.formula_string.fget(rule), from_transient_scan=False, fips_mode=False,
        match=SimpleNamespace(extra=SimpleNamespace(metavars=SimpleNamespace(value=metavars))),
    )
    match._get_metavar_bindings = lambda: RuleMatch._get_metavar_bindings(match)
    match.get_match_based_key = lambda: RuleMatch.get_match_based_key(match)
    match.syntactic_context = RuleMatch.get_syntactic_context(match)
    match.ci_unique_key = RuleMatch.get_ci_unique_key(match)
    return {
        "context": match.syntactic_context, "syntactic_id": RuleMatch.get_syntactic_id(match),
        "match_based_id": RuleMatch.get_match_based_id(match),
        "code_hash": RuleMatch.get_code_hash(match), "pattern_hash": RuleMatch.get_pattern_hash(match),
    }


json.dump([ids(case) for case in json.load(sys.stdin)], sys.stdout)
