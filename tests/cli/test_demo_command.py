import json
from pathlib import Path


def test_the_demo_writes_its_report_and_links_that_can_be_imported(call, tmp_path):
    links = tmp_path / "links.csv"
    out = tmp_path / "demo"
    done = call("demo", "--quick", "--out", out, "--export", links, "--threads", 1, "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert "ood-linker" in Path(told["report"]).read_text()
    imported = call("data", "import", links, "--out", tmp_path / "my.graph", "--json")
    assert imported.code == 0, imported.err
    assert len(json.loads(imported.out)["links_per_domain"]) == 5


def test_links_are_not_exported_over_a_file(call, tmp_path):
    (tmp_path / "links.csv").write_text("mine")
    done = call("demo", "--out", tmp_path / "demo", "--export", tmp_path / "links.csv")
    assert done.code == 2
    assert (tmp_path / "links.csv").read_text() == "mine"
