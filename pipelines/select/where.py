"""An expression over the columns of records, checked, and evaluated by DuckDB.

What stands in rows reaches DuckDB as values of a table, never as SQL. The expression is the user's;
it is parsed first, and has to be one condition on a record's own columns: no subquery, no second
statement. DuckDB may open no file and load no extension.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from revise_captions.errors import UserError
from revise_captions.pipelines.select.columns import COLUMNS

_NAMES = tuple(column.name for column in COLUMNS)


class Condition:
    """Says of which records an expression holds.

    Raises:
        UserError: The expression cannot be parsed, is more than a condition, or names a column
            that does not exist.
    """

    def __init__(self, text: str) -> None:
        import duckdb

        self.text = text
        self._error = duckdb.Error
        self._db = duckdb.connect(":memory:", config={"threads": 1})
        types = ", ".join(f'"{column.name}" {column.kind}' for column in COLUMNS)
        self._db.execute(f"CREATE TABLE records ({types})")
        self._db.execute("SET enable_external_access = false")
        self._db.execute("SET autoinstall_known_extensions = false")
        self._db.execute("SET lock_configuration = true")
        self._check()
        self.holds([])

    def holds(self, rows: Sequence[Mapping[str, Any]]) -> list[bool]:
        """Of each record, by its columns; what is neither true nor false counts as false.

        Raises:
            UserError: A value cannot be what the expression makes of it.
        """
        import pyarrow

        self._db.execute("DELETE FROM records")
        if rows:
            kinds = {column.name: _ARROW[column.kind] for column in COLUMNS}
            schema = pyarrow.schema([(name, getattr(pyarrow, k)()) for name, k in kinds.items()])
            self._db.register("batch", pyarrow.Table.from_pylist(list(rows), schema=schema))
            self._db.execute("INSERT INTO records SELECT * FROM batch")
            self._db.unregister("batch")
        try:
            found = self._db.execute(_query(self.text).replace("SELECT 1", "SELECT record"))
            numbers = {number for (number,) in found.fetchall()}
        except self._error as error:
            raise self._wrong(str(error)) from None
        return [row["record"] in numbers for row in rows]

    def _check(self) -> None:
        node = self._parsed(self.text)
        plain = self._parsed("true")
        where = node.pop("where_clause", None)
        plain.pop("where_clause")
        if where is None or node != plain:
            raise UserError(f"--where {self.text}: expected one condition", hint=_HINT)
        for part in _nodes(where):
            if part.get("class") == "SUBQUERY":
                found = f"--where {self.text}: a condition on one record has no subquery"
                raise UserError(found, hint=_HINT)
            if part.get("class") == "COLUMN_REF" and part["column_names"][-1].lower() not in _NAMES:
                raise _no_column(part["column_names"][-1])

    def _parsed(self, text: str) -> dict[str, Any]:
        (found,) = self._db.execute("SELECT json_serialize_sql(?)", [_query(text)]).fetchall()[0:1]
        parsed = json.loads(found[0])
        if parsed["error"]:
            raise self._wrong(parsed["error_message"])
        if len(parsed["statements"]) != 1:
            raise UserError(f"--where {text}: expected one condition", hint=_HINT)
        node: dict[str, Any] = _without_places(parsed["statements"][0]["node"])
        return node

    def _wrong(self, message: str) -> UserError:
        lines = message.splitlines() or [message]
        return UserError(f"--where {self.text}: {lines[0]}", hint=_HINT)


_HINT = "such as: factual_after >= 0.9 and unscored = 0; the columns: captions columns OUT"
_ARROW = {
    "BIGINT": "int64",
    "DOUBLE": "float64",
    "BOOLEAN": "bool_",
    "VARCHAR": "string",
    "JSON": "string",
}


def _query(text: str) -> str:
    # a line of its own, as the text may end in a comment
    return f"SELECT 1 FROM records WHERE (\n{text}\n)"


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_places(v) for k, v in value.items() if k != "query_location"}
    return [_without_places(one) for one in value] if isinstance(value, list) else value


def _nodes(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value:
        if isinstance(one, dict | list):
            yield from _nodes(one)


def _no_column(name: str) -> UserError:
    near = difflib.get_close_matches(name.lower(), _NAMES, 1)
    meant = f"did you mean {near[0]}? " if near else ""
    return UserError(f"there is no column {name}", hint=f"{meant}there are: {', '.join(_NAMES)}")
