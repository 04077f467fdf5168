"""Topics as the tracks of TREC, FIRE and NTCIR write them, and what is wrong with broken ones."""

import gzip

import pytest

from prefjudge import check, pool
from prefjudge.errors import InputError
from prefjudge.reading.files import Notice
from prefjudge.reading.texts.collections import read_texts
from prefjudge.reading.texts.records import Field, TextFields
from prefjudge.reading.texts.texts import read_queries

OPEN = """<top>
<num> Number: 401
<title> foreign minorities, Germany

<desc> Description:
What language and cultural
differences &amp; the <b>AT&T</b> case
<narr> Narrative:
A relevant document mentions a
<i>minority</i>.

</top>

<top>
<num> Number: 402
<title> behavioral genetics
<desc> Description: What is it?
<narr> Narrative: All of it.
</top>
"""
CLOSED = "<topics>\n<top lang='en'>\n<num>176</num><title>a b</title><desc>d</desc><narr>n</narr></top>\n"
COVID = """<topics task="x" batch="1">\r
  <topic number="1">\r
    <query>coronavirus
 origin</query><question>what is it</question><narrative>all &lt; some</narrative>
  </topic>
</topics>"""
WEB = """<?xml version="1.0"?>
<!DOCTYPE web [ <!ELEMENT topic (query, description, subtopic+)> ]>
<web><!-- <topic number="9"><query>no</query></topic> -->
<topic number="7"><query>obama <b>family</b> tree</query><description>d</description>
<subtopic number="1">s</subtopic></topic></web>"""
NTCIR = "<queries><query><qid>0001</qid><content>ascii code</content></query></queries>"
PLAIN = '<topics><topic number="3">a patient with a cough</topic></topics>'
LIST = '[\n {"question_id": "CQ1", "question": "what is it", "query": "origin", "background": "b"}\n]\n'
OBJECT = '{"1": "one", "2": {"title": "two", "description": "d2"}}'
INDENTED = '{\n "1": {\n  "title": "one"},\n "2": {"title": "two"}\n}'

READ = {
    "open tags": (OPEN, "title", {"401": "foreign minorities, Germany", "402": "behavioral genetics"}),
    "desc": (
        OPEN,
        "desc",
        {"401": "What language and cultural differences & the <b>AT&T</b> case", "402": "What is it?"},
    ),
    "narr": (OPEN, "narr", {"401": "A relevant document mentions a <i>minority</i>.", "402": "All of it."}),
    "closed": (CLOSED, "title", {"176": "a b"}),
    "closed narr": (CLOSED, "narr", {"176": "n"}),
    "one line": ("<top><num>Number: 1<title>Topic: x y</top>", "title", {"1": "x y"}),
    "microblog": ("<top>\n<num> Number: MB1 </num>\n<query> w s </query>\n</top>", "title", {"MB1": "w s"}),
    "covid": (COVID, "title", {"1": "coronavirus origin"}),
    "covid desc": (COVID, "desc", {"1": "what is it"}),
    "covid narr": (COVID, "narr", {"1": "all < some"}),
    "web": (WEB, "title", {"7": "obama family tree"}),
    "ntcir": (NTCIR, "title", {"0001": "ascii code"}),
    "text alone": (PLAIN, "title", {"3": "a patient with a cough"}),
    "list": (LIST, "title", {"CQ1": "origin"}),
    "list desc": (LIST, "desc", {"CQ1": "what is it"}),
    "object": (OBJECT.replace("}}", '}, "3": "three"}'), "title", {"1": "one", "2": "two", "3": "three"}),
    "indented": (INDENTED, "title", {"1": "one", "2": "two"}),
    "title alone": ('{"id": 1, "title": "t"}\n', "title", {"1": "t"}),
    "narr of lines": ('{"id": 1, "title": "t", "narrative": "n"}\n', "narr", {"1": "n"}),
    "answered": (
        'who is it\t[\'a\']\nwhat "x"\t"[\'b\', ""c""]"\n',
        "title",
        {"0": "who is it", "1": 'what "x"'},
    ),
    "answered in JSON": ('{"question": "what is it", "answer": ["a"]}\n', "title", {"0": "what is it"}),
    "car": ("enwiki:A%20b/C\n", "title", {"enwiki:A%20b/C": "A b/C"}),
    "tabs": ("1\tone: two\n", "title", {"1": "one: two"}),
}


@pytest.mark.parametrize("pack", [str.encode, lambda text: gzip.compress(text.encode())])
@pytest.mark.parametrize("name", READ)
def test_topics_are_read(tmp_path, name, pack):
    text, field, expected = READ[name]
    (tmp_path / "topics").write_bytes(pack(text))
    assert read_queries(tmp_path / "topics", fields=TextFields(field=Field(field))) == expected


def said(tmp_path, text, **options):
    (tmp_path / "topics").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as error:
        read_queries(tmp_path / "topics", **options)
    return str(error.value)


BAD = {
    "cut SGML": (OPEN[:-8], ":14: the last topic has no </top>"),
    "no number": ("<top>\n<title> a\n</top>\n", ":1:1: the topic has no <num>"),
    "blank": ("<top>\n<num> 1 2\n<title> a\n</top>\n", "holds a blank"),
    "no title": ("<top>\n<num> 1\n<docid> d\n</top>\n", "topic 1 has no title: it has docid"),
    "another field": ("\n<top>\n<num> 1\n<desc> d\n</top>\n", "--dataset field=desc"),
    "two alike": (OPEN.replace("402", "401"), ":14:1: the query has another text on line 1"),
    "cut XML": (COVID[:-20], "is not XML: "),
    "XML without topics": ("<topics><note>1</note></topics>", "XML without topics"),
    "XML number": ("<topics>\n<topic><query>q</query></topic></topics>", ":2:1: the topic has no number"),
    "XML field": (
        '<topics>\n<topic number="1"><narrative>q</narrative></topic></topics>',
        "--dataset field=narr",
    ),
    "deep": ("<topics>" + "<a>" * 99 + "</a>" * 99 + "</topics>", "nested more than 50 deep"),
    "cut JSON": (LIST[:-4], "not valid JSON"),
    "JSON behind": (LIST + "x", "not valid JSON"),
    "nested JSON": ("[" * 100_000, "nested too deeply"),
    "JSON id": ('[\n{"query": "q"}]', ":2:1: the topic has no id"),
    "JSON field": ('[\n{"id": "1", "description": "q"}]', "--dataset field=desc"),
    "vectors": ('{"qid": 1, "vector": [0.1, 0.2]}\n', ":1: holds vectors"),
    "answers": ("who sings it\tLinda Davis\n", ":1:1: the id holds a blank"),
    "answered": ("who is it\t['a']\n" * 30 + "nothing\n", ":31:1: not a question with its answers"),
    "titled": ("enwiki:A\n" * 30 + "two words\n", ":31:1: not a title as addresses have it"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_said(tmp_path, name):
    text, message = BAD[name]
    assert message in said(tmp_path, text)


@pytest.mark.parametrize(
    "entity", ['<!ENTITY a "aaaa"> <!ENTITY b "&a;&a;">', '<!ENTITY b SYSTEM "file:///etc/passwd">']
)
def test_no_entity_is_expanded(tmp_path, entity):
    text = f'<!DOCTYPE t [ {entity} ]>\n<topics><topic number="1"><query>&b;</query></topic></topics>'
    assert "declares XML entities" in said(tmp_path, text)


def test_latin_1_and_zeros_are_noticed(tmp_path):
    notices: list[Notice] = []
    (tmp_path / "topics").write_bytes("<top>\n<num> Number: 051\n<title> café\n</top>".encode("latin-1"))
    assert read_queries(tmp_path / "topics", notices=notices) == {"51": "café"}
    words = " ".join(map(str, notices))
    assert "read as Latin-1" in words
    assert "051 is read as 51" in words


@pytest.mark.parametrize("text", [OPEN, COVID, LIST])
def test_topics_are_no_collection_and_no_run(tmp_path, text):
    (tmp_path / "topics").write_text(text)
    with pytest.raises(InputError, match="--queries"):
        read_texts(tmp_path / "topics", ["401"])
    (checked,) = check([tmp_path / "topics"]).files
    assert (checked.kind, checked.ok) == ("texts", True)


def test_a_pool_takes_the_field_of_its_topics(tmp_path):
    (tmp_path / "run").write_text("401 Q0 d1 1 9 t\n403 Q0 d1 1 9 t\n")
    (tmp_path / "topics").write_text(OPEN)
    given = {"runs": tmp_path / "run", "queries": tmp_path / "topics", "out": tmp_path / "p.tsv"}
    assert pool(**given, dataset="field=narr").queries == 1
    with pytest.raises(InputError, match="there is no dataset word 'field=nar'"):
        pool(**given, dataset="field=nar")
