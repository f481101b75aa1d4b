import json
from pathlib import Path

import pytest

from oodlinker.data.store import load_graph


def write(folder: Path, text: str, name: str = "links.csv") -> Path:
    (folder / name).write_text(text)
    return folder / name


ROWS = "u,v,year,kind\na,b,2001,x\nb,b,2002,y\na,b,2001,x\na,c,oops,x\n"


def test_the_guess_and_what_was_counted_are_printed(call, tmp_path):
    source = write(tmp_path, ROWS)
    done = call("data", "import", source, "--on-bad-row", "drop", "--out", tmp_path / "g")
    assert done.code == 0, done.err
    assert 'src = "u" (guessed)' in done.err
    assert "1 of 4 rows were dropped" in done.err
    counted = dict(line.split("  ", 1) for line in done.out.splitlines() if "  " in line)
    found = {name: value.strip() for name, value in counted.items()}
    assert found["links"] == "3"
    assert found["rows dropped"] == "1"
    assert found["self loops"] == "1"
    assert found["repeated links"] == "1"


def test_named_options_drop_loops_and_duplicates_and_count_them(call, tmp_path):
    source = write(tmp_path, ROWS)
    options = ("--on-bad-row", "drop", "--self-loops", "drop", "--duplicates", "drop", "--json")
    told = json.loads(call("data", "import", source, *options, "--out", tmp_path / "g").out)
    assert told["links"] == 1
    assert told["notes"]["self_loops_dropped"] == 1
    assert told["notes"]["repeated_links_dropped"] == 1
    assert any("guessed" in line for line in told["told"])


def test_a_bad_row_stops_the_import_and_leaves_nothing(call, tmp_path):
    source = write(tmp_path, ROWS)
    done = call("data", "import", source, "--out", tmp_path / "g")
    assert done.code == 2
    assert 'row 5, column "year": "oops"' in done.err
    assert "--on-bad-row drop" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["links.csv"]


@pytest.mark.parametrize(
    ("option", "kind"), [("--directed", "directed"), ("--bipartite", "bipartite")]
)
def test_links_can_be_directed_or_bipartite(call, tmp_path, option, kind):
    source = write(tmp_path, "src,dst,time\n1,1,5\n2,1,6\n")
    done = call("data", "import", source, option, "--out", tmp_path / "g", "--json")
    told = json.loads(done.out)
    assert told["kind"] == kind
    assert told["nodes"] == (3 if kind == "bipartite" else 2)


def test_directed_and_bipartite_exclude_each_other(call, tmp_path):
    source = write(tmp_path, "src,dst,time\n1,1,5\n")
    done = call("data", "import", source, "--directed", "--bipartite", "--out", tmp_path / "g")
    assert done.code == 2
    assert "Choose one" in done.err


def test_named_columns_and_a_node_table_are_taken(call, tmp_path):
    links = write(
        tmp_path, "p,q,src,when,how,w\nann,bob,9,2001-05-01,x,.5\nbob,zoe,9,2002-05-01,y,1\n"
    )
    nodes = write(tmp_path, "name,age,town\nann,20,1\nbob,30,0\nzoe,40,1\n", "nodes.csv")
    done = call(
        *("data", "import", links, "--src", "p", "--dst", "q", "--time", "when"),
        *("--domain", "how", "--edge-feat", "w", "--nodes", nodes, "--node-id", "name"),
        *("--node-feat", "age", "--node-feat", "town", "--out", tmp_path / "g", "--json"),
    )
    told = json.loads(done.out)
    assert told["links_per_domain"] == {"x": 1, "y": 1}
    assert told["times"]["unit"] == "us"
    assert told["node_features"] == {"number": 2, "names": ["age", "town"]}
    assert told["link_features"] == {"number": 1, "names": ["w"]}


def test_files_without_a_header_get_names(call, tmp_path):
    source = write(tmp_path, "a;b;2001\nb;c;2002\n")
    options = ("--columns", "src,dst,time", "--delimiter", ";")
    done = call("data", "import", source, *options, "--out", tmp_path / "g", "--json")
    assert json.loads(done.out)["links"] == 2


def test_standard_input_is_a_source(call, tmp_path):
    done = call("data", "import", "-", "--out", tmp_path / "g", "--json", stdin=ROWS[:25].encode())
    assert json.loads(done.out)["links"] == 1


def test_a_graph_is_not_overwritten_without_force(call, tmp_path):
    source = write(tmp_path, "src,dst,time\n1,2,5\n")
    assert call("data", "import", source, "--out", tmp_path / "g").code == 0
    again = call("data", "import", source, "--out", tmp_path / "g")
    assert again.code == 2
    assert "--force" in again.err
    assert call("data", "import", source, "--out", tmp_path / "g", "--force").code == 0


def test_info_counts_what_import_counted(call, tmp_path):
    source = write(tmp_path, ROWS)
    made = call("data", "import", source, "--on-bad-row", "drop", "--out", tmp_path / "g", "--json")
    known = json.loads(made.out)
    del known["told"]
    assert json.loads(call("data", "info", tmp_path / "g", "--json").out) == known


def test_info_is_readable(call, home):
    shown = call("data", "info", home / "my.graph").out
    assert "1994 to 2009, 16 distinct, in year" in shown
    assert "Data Mining" in shown
    assert "720" in shown


def test_info_of_what_is_no_graph_says_how_to_make_one(call, tmp_path):
    done = call("data", "info", tmp_path / "nothing")
    assert done.code == 2
    assert "oodlinker data import" in done.err


def test_documents_are_imported_beside_the_links(call, tmp_path):
    """interface.md: data import links.csv [--documents papers.parquet]."""
    source = write(tmp_path, "src,dst,year,domain\na,b,2001,x\nb,c,2002,y\n")
    papers = "paper,authors,year,domain,title\np1,a;b,2001,x,Graphs\np2,b; c,2002,y,Links\n"
    papers = write(tmp_path, papers, "papers.csv")
    done = call("data", "import", source, "--documents", papers, "--out", tmp_path / "g", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["notes"]["documents"] == 2
    graph = load_graph(tmp_path / "g", verify=True)
    assert graph.documents.text.tolist() == ["Graphs", "Links"]
    assert graph.documents.author.tolist() == [0, 1, 1, 2]
