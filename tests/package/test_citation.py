"""CITATION.cff says of the software what the package says of itself."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_it_is_the_package_that_is_cited():
    assert CITATION["cff-version"] == "1.2.0"
    assert CITATION["version"] == PROJECT["version"]
    assert CITATION["license"] == PROJECT["license"]
    assert CITATION["authors"] == PROJECT["authors"]


def test_the_five_papers_are_the_packages_links():
    papers = {paper["url"]: paper for paper in CITATION["references"]}
    assert set(papers) == set(PROJECT["urls"].values())
    for url, paper in papers.items():
        (identifier,) = paper["identifiers"]
        assert re.fullmatch(r"arXiv:\d{4}\.\d{5}", identifier["value"])
        assert url == f"https://arxiv.org/abs/{identifier['value'].removeprefix('arXiv:')}"
        assert paper["title"]
        assert all(set(author) == {"given-names", "family-names"} for author in paper["authors"])
