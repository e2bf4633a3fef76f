"""The page by plain requests: who is let in, what is refused, which headers go out; and its parts by themselves."""

from __future__ import annotations

import hmac
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from fairgate.errors import InputError
from fairgate.live.config import ServiceSettings
from fairgate.live.database import connect, reading
from fairgate.live.failures import UnavailableError
from fairgate.live.gate import Gate
from fairgate.live.keys import create_key, list_keys, revoke_key
from fairgate.live.page import views
from fairgate.live.page.charts import Axis, draw_interval
from fairgate.live.page.ended import end, has_ended
from fairgate.live.page.secret import read_secret
from fairgate.live.page.session import HOURS, Session, Sessions
from fairgate.live.page.views import Visitor
from fairgate.live.preparing import prepare
from fairgate.live.replies import Figure, Figures
from fairgate.live.schema import ended_sessions
from tests.live import page_figures
from tests.live.serving import make_spec, serving

SECRET = "0123456789abcdef" * 4
PRIVATE = ("", "/now", "/log", "/log/1", "/case", "/case?id=a-1")


class Visit:
    """A browser of plain requests that looks at the page of a running service."""

    def __init__(self, url: str, gates: Mapping[str, Gate]) -> None:
        self.url, self.gates = url, gates
        self.http = httpx.Client(base_url=url, follow_redirects=False, timeout=30)
        self.get, self.post, self.cookies = self.http.get, self.http.post, self.http.cookies


@contextmanager
def visiting(folder: Path, **more: Any) -> Iterator[Visit]:
    (folder / "secret").write_text(SECRET)
    plain = {"database": str(folder / "gates.db"), "gates": [make_spec(), make_spec("other")]}
    with serving(ServiceSettings.model_validate({**plain, "session_secret": folder / "secret", **more})) as served:
        found = Visit(served.url, served.app.state.gates)
        with found.http:
            yield found


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    with visiting(tmp_path_factory.mktemp("page")) as found:
        found.gates["credit"].decide(["a-1", "a-2"], ["a", "b"], [0.7, 0.3])
        yield found


@pytest.fixture
def visit(running: Visit) -> Visit:
    running.cookies.clear()
    return running


def key(visit: Visit, name: str, *scopes: str, gate: str = "credit") -> str:
    return create_key(visit.gates[gate], name, scopes)


def signed(secret: str, **more: Any) -> Sessions:
    return Sessions(secret.encode(), **more)


def log_in(visit: Visit, token: str) -> httpx.Response:
    return visit.post("/login", data={"key": token}, headers={"Origin": visit.url})


def form_token(visit: Visit) -> str:
    found = re.search(r'name="token" value="(\w+)"', visit.get("/gates/credit").text)
    return found[1] if found else ""


def hold(visit: Visit, **more: str) -> httpx.Response:
    data = {"mode": "hold", "reason": "a rehearsal", "threshold": "0.6", "token": form_token(visit), **more}
    return visit.post("/gates/credit/mode", data=data)


def test_a_session_lets_in_and_is_for_one_gate(visit: Visit) -> None:
    answer = log_in(visit, key(visit, "one gate", "read"))
    assert (answer.status_code, answer.headers["location"]) == (303, "/gates/credit")
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/", f"Max-Age={int(HOURS * 3600)}"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    for path in PRIVATE:
        answer = visit.get(f"/gates/credit{path}")
        assert answer.status_code == 200, path
        assert answer.headers["cache-control"] == "no-store"
        assert "unsafe-inline" not in answer.headers["content-security-policy"]
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert not re.search(r"<[^>]+\sstyle=|<style|<script>|\son\w+=", answer.text)
    assert visit.get("/").headers["location"] == "/gates/credit"
    for gate in ("other", "nowhere"):
        assert visit.get(f"/gates/{gate}").headers["location"] == "/login"
    assert log_in(visit, key(visit, "second gate", "read", gate="other")).headers["location"] == "/gates/other"


def test_over_https_the_cookie_stays_there(tmp_path: Path) -> None:
    with visiting(tmp_path, behind_proxy=True) as visit:
        said = {"X-Forwarded-Proto": "https", "Sec-Fetch-Site": "same-origin"}
        answer = visit.post("/login", data={"key": key(visit, "https", "read")}, headers=said)
        assert "Secure" in answer.headers["set-cookie"].split("; ")


@pytest.mark.parametrize("path", PRIVATE)
def test_without_a_session_there_is_only_the_log_in(visit: Visit, path: str) -> None:
    answer = visit.get(f"/gates/credit{path}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert visit.get("/").headers["location"] == "/login"
    assert visit.get("/login").status_code == 200


@pytest.mark.parametrize("token", ["", "fg_", "fg_000000000000_" + "x" * 43, "'; drop table api_keys; --", "ü" * 50])
def test_what_is_no_key_is_refused(visit: Visit, token: str) -> None:
    answer = log_in(visit, token)
    assert answer.status_code == 401
    assert "This is not a key of a gate here" in answer.text
    assert "set-cookie" not in answer.headers


def test_a_key_that_may_not_read_sees_nothing(visit: Visit) -> None:
    answer = log_in(visit, key(visit, "decides", "decide", "admin"))
    assert answer.status_code == 403
    assert "and this needs read" in answer.text


def test_no_address_is_taken_from_the_request(visit: Visit) -> None:
    token = key(visit, "redirect", "read")
    answer = visit.post(
        "/login?next=//evil.example/&url=https://evil.example", data={"key": token, "next": "//evil.example"}
    )
    assert answer.headers["location"] == "/gates/credit"


def test_revoked_expired_and_forged_sessions_end(visit: Visit) -> None:
    gate = visit.gates["credit"]
    log_in(visit, key(visit, "to be revoked", "read", "admin"))
    token = form_token(visit)
    assert token
    (facts,) = [each for each in list_keys(gate.engine, "credit") if each.name == "to be revoked"]
    revoke_key(gate, facts.id)
    assert visit.get("/gates/credit").headers["location"] == "/login"
    assert visit.post("/gates/credit/mode", data={"mode": "learn", "reason": "x", "token": token}).status_code == 401

    token = key(visit, "long ago", "read")
    (facts,) = [each for each in list_keys(gate.engine, "credit") if each.name == "long ago"]
    for past, status in ((HOURS * 3600 - 60, 200), (HOURS * 3600 + 60, 303)):
        then = datetime.now(UTC) - timedelta(seconds=past)
        cookie = signed(SECRET, clock=then.timestamp).begin("credit", facts.id)[1]
        visit.cookies.clear()
        visit.cookies.set("fairgate-credit", cookie)
        assert visit.get("/gates/credit").status_code == status
    for forged in (
        signed("another secret").begin("credit", facts.id)[1],
        signed(SECRET).begin("other", facts.id)[1],
        signed(SECRET).begin("credit", "0" * 12)[1],
        "a.b",
        ".",
        "ü.ü",
    ):
        answer = visit.get("/gates/credit", headers={b"Cookie": f"fairgate-credit={forged}".encode()})
        assert answer.status_code == 303


def test_a_session_that_was_logged_out_stays_so(visit: Visit) -> None:
    log_in(visit, key(visit, "leaves", "read"))
    cookie = visit.cookies["fairgate-credit"]
    assert visit.post("/gates/credit/logout", data={"token": "wrong"}).status_code == 403
    answer = visit.post("/gates/credit/logout", data={"token": form_token(visit)})
    assert answer.headers["location"] == "/login"
    visit.cookies.set("fairgate-credit", cookie)
    assert visit.get("/gates/credit").status_code == 303


def test_a_form_must_come_from_a_page_of_the_session(visit: Visit) -> None:
    log_in(visit, key(visit, "first admin", "read", "admin"))
    others = form_token(visit)
    log_in(visit, key(visit, "second admin", "read", "admin"))
    own = form_token(visit)
    before = visit.gates["credit"].status().seq
    for token in ("", "wrong", others, "ü"):
        answer = hold(visit, token=token)
        assert answer.status_code == 403
        assert "not of this session" in answer.text
    foreign: list[dict[str, str]] = [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": visit.url},
    ]
    for headers in foreign:
        data = {"mode": "learn", "reason": "x", "token": own}
        assert visit.post("/gates/credit/mode", data=data, headers=headers).status_code == 403
        assert visit.post("/login", data={"key": "x"}, headers=headers).status_code == 403
    assert visit.gates["credit"].status().seq == before


def test_a_key_that_only_reads_has_no_buttons_and_cannot_make_its_own(visit: Visit) -> None:
    log_in(visit, key(visit, "reader", "read", "decide", "audit"))
    page = visit.get("/gates/credit").text
    assert "Change the mode" not in page
    assert "may only read" in page
    before = visit.gates["credit"].status().seq
    assert "must have the scope admin" in hold(visit).text
    for path in ("mode", "approve"):
        data = {"mode": "learn", "reason": "x", "waiting": "x", "token": form_token(visit)}
        assert visit.post(f"/gates/credit/{path}", data=data).status_code == 403
    assert visit.gates["credit"].status().seq == before


def test_a_change_of_mode_is_the_same_call_as_the_apis(visit: Visit) -> None:
    log_in(visit, key(visit, "anna", "read", "admin"))
    answer = hold(visit, key="once-1")
    assert (answer.status_code, answer.headers["location"]) == (303, "/gates/credit")
    status = visit.gates["credit"].status()
    assert (status.mode.mode, status.mode.reason, status.mode.actor) == ("hold", "a rehearsal", "key:anna")
    assert status.policy is not None
    assert status.policy.components[0].thresholds == {"a": 0.6, "b": 0.6}
    assert hold(visit, key="once-1").status_code == 303
    assert visit.gates["credit"].status().seq == status.seq, "the same form sent twice changes nothing more"


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("mode", "panic", "mode must be one of learn, hold, shadow, approve, got &#39;panic&#39;"),
        ("reason", "  ", "reason must be given"),
        ("reason", "red \x1b[31m", "reason must be a line of 1 to 2000 printable characters"),
        ("reason", "two\nlines", "reason must be a line"),
        ("reason", "turned \u202e round", "reason must be a line"),
        ("reason", "isolated \u2067 words", "reason must be a line"),
        ("threshold", "half", "threshold must be a number"),
        ("threshold", "nan", "threshold must be"),
        ("threshold", "0.55", "threshold must be one of the grid"),
        ("threshold", "0.5, 0.6", "differs between groups"),
    ],
)
def test_a_form_that_does_not_fit_is_one_sentence_and_keeps_what_was_written(
    visit: Visit, field: str, value: str, said: str
) -> None:
    log_in(visit, key(visit, f"form {datetime.now(UTC):%H%M%S%f}", "read", "admin"))
    before = visit.gates["credit"].status().seq
    answer = hold(visit, **{"reason": 'because of "this"', field: value})
    assert answer.status_code == 422
    assert said in answer.text
    if field != "reason":
        assert 'value="because of &#34;this&#34;"' in answer.text
    assert visit.gates["credit"].status().seq == before


def test_cases_and_events_are_found_and_what_is_not_there_is_said(visit: Visit) -> None:
    log_in(visit, key(visit, "looks", "read"))
    found = visit.get("/gates/credit/case", params={"id": "a-2"}).text
    assert "Application a-2: rejected" in found
    assert "0.3 or more and below 0.4" in found
    answer = visit.get("/gates/credit/case", params={"id": "<b>nobody</b>"})
    assert answer.status_code == 404
    assert "&lt;b&gt;nobody" in answer.text
    events = visit.gates["credit"].log(0, 1, kind="decided")
    assert "/gates/credit/case?id=a-1" in visit.get(f"/gates/credit/log/{events[0].seq}").text
    for path in ("log/0", "log/99999999", f"log/{2**70}"):
        assert visit.get(f"/gates/credit/{path}").status_code == 404
    for path in ("log?before=x", "log/x", "log/1?place=-1", "log?before=0"):
        assert visit.get(f"/gates/credit/{path}").status_code == 422
    assert visit.get("/static/nothing.js").status_code == 404


def test_in_shadow_the_operators_own_rule_decides(visit: Visit) -> None:
    gate = visit.gates["other"]
    log_in(visit, key(visit, "shadows", "read", "admin", gate="other"))
    token = re.findall(r'name="token" value="(\w+)"', visit.get("/gates/other").text)[0]
    answer = visit.post("/gates/other/mode", data={"mode": "shadow", "reason": "to begin with", "token": token})
    assert answer.status_code == 303
    gate.report(["s-1"], ["a"], [0.7], [False])
    page = visit.get("/gates/other").text
    assert "The gate itself decides nothing" in page
    assert "What the mode learn would play" in page
    case = visit.get("/gates/other/case?id=s-1").text
    assert "rejected, by the operator&#39;s own rule" in case
    assert "<dt>In the mode learn</dt>" in case
    assert "needs a reason that counsel accepts" not in case
    gate.hold("as before", 0.5)


def test_without_the_database_a_page_says_so_and_not_where_it_is(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    log_in(visit, key(visit, "unlucky", "read"))

    def gone(rounds: int = 200) -> Figures:
        raise UnavailableError("the database /srv/private/gates.db cannot be used now (disk full)")

    monkeypatch.setattr(visit.gates["credit"], "figures", gone)
    for path in ("", "/now"):
        answer = visit.get(f"/gates/credit{path}")
        assert answer.status_code == 503
        assert "The database does not answer" in answer.text
        assert "private" not in answer.text
    monkeypatch.undo()
    assert visit.get("/gates/credit").status_code == 200


def test_the_log_is_paged_newest_first_and_by_kind(visit: Visit) -> None:
    gate = visit.gates["other"]
    for number in range(120):
        gate.decide(f"b-{number}", "a", 0.5)
    log_in(visit, key(visit, "pages", "read", gate="other"))
    place, seen = "/gates/other/log", []
    while place:
        text = visit.get(place).text
        seen += [
            int(each) for each in re.findall(r'<th scope="row" class="number"><a href="/gates/other/log/(\d+)"', text)
        ]
        older = re.search(r'rel="next" href="([^"]+)"', text)
        place = older[1].replace("&amp;", "&") if older else ""
    assert seen == list(range(gate.status().seq, 0, -1))
    rows = re.findall(r"<td class=\"what\"><strong>([\w ]+)", visit.get("/gates/other/log?kind=key-added").text)
    assert rows == ["key added"] * len(list_keys(gate.engine, "other"))


@pytest.mark.slow
def test_all_processes_agree_on_who_is_logged_in_and_who_has_left(tmp_path: Path) -> None:
    with visiting(tmp_path) as one, visiting(tmp_path) as other:
        log_in(one, key(one, "wanders", "read"))
        other.cookies.update(one.cookies)
        for visit in (one, other):
            assert visit.get("/gates/credit").status_code == 200
        other.cookies.set("fairgate-other", one.cookies["fairgate-credit"])
        assert other.get("/gates/other").status_code == 303
        assert one.post("/gates/credit/logout", data={"token": form_token(one)}).status_code == 303
        assert other.get("/gates/credit").status_code == 303
    with visiting(tmp_path) as again:  # after a restart
        again.cookies.update(other.cookies)
        assert again.get("/gates/credit").status_code == 303
        log_in(again, key(again, "wanders on", "read"))
        assert again.get("/gates/credit").status_code == 200


def test_a_session_is_ended_once_and_forgotten_when_its_time_is_over(database_url: str) -> None:
    engine = connect(database_url)
    prepare(engine)
    now = datetime.now(UTC).timestamp()
    old, new, other = (Session("credit", "k", name, now + left) for name, left in (("o", -1), ("n", 99), ("x", 99)))
    for each in (old, new, new):
        end(engine, each)
    assert [has_ended(engine, each) for each in (old, new, other)] == [False, True, False]
    with reading(engine) as connection:
        assert connection.execute(select(ended_sessions)).all() == [("n", new.until)]
    engine.dispose()


def test_what_the_database_holds_does_not_log_anybody_in(visit: Visit) -> None:
    token = key(visit, "owner of a backup", "read", "admin")
    gate = visit.gates["credit"]
    (facts,) = [each for each in list_keys(gate.engine, "credit") if each.name == "owner of a backup"]
    for secret in (gate.secret, hmac.digest(gate.secret, b"sessions of the page", "sha256")):
        cookie = Sessions(secret).begin("credit", facts.id)[1]
        visit.cookies.set("fairgate-credit", cookie)
        assert visit.get("/gates/credit").status_code == 303
    visit.cookies.clear()
    assert log_in(visit, token).status_code == 303


def test_what_was_done_is_told_once_and_by_no_link(visit: Visit) -> None:
    log_in(visit, key(visit, "tells", "read", "admin"))
    assert "The mode was changed" not in visit.get("/gates/credit?done=mode").text
    answer = hold(visit)
    assert {"HttpOnly", "SameSite=strict", "Path=/gates/credit"} <= set(answer.headers["set-cookie"].split("; "))
    note = visit.cookies["fairgate.credit"]
    assert "The mode was changed" in visit.get("/gates/credit").text
    assert "The mode was changed" not in visit.get("/gates/credit").text
    for forged in ("mode", "mode.99999999999", "mode.99999999999.", note.replace("mode", "approve"), "ü", ""):
        answer = visit.get("/gates/credit", headers={b"Cookie": cookies(visit, forged)})
        assert answer.status_code == 200
        assert 'class="told "' not in answer.text
    log_in(visit, key(visit, "another", "read", "admin"))
    assert "The mode was changed" not in visit.get("/gates/credit", headers={b"Cookie": cookies(visit, note)}).text


def cookies(visit: Visit, note: str) -> bytes:
    """The cookies of the session and of what it is told."""
    return f"fairgate-credit={visit.cookies['fairgate-credit']}; fairgate.credit={note}".encode()


def test_a_note_is_told_within_a_minute_or_not_at_all() -> None:
    moments = iter((0.0, 0.0, 59.0, 61.0))
    sessions = signed(SECRET, clock=lambda: next(moments))
    session, _ = sessions.begin("credit", "k")
    note = sessions.note(session, "mode")
    assert [sessions.read_note(session, note) for _ in range(2)] == ["mode", ""]


def test_log_ins_that_fail_too_often_are_told_so_and_a_good_key_is_let_in(tmp_path: Path) -> None:
    with visiting(tmp_path, behind_proxy=True) as visit:
        found = [
            visit.post("/login", data={"key": "no"}, headers={"X-Forwarded-For": f"203.0.113.{number}"})
            for number in range(22)
        ]
        assert [each.status_code for each in found] == [401] * 20 + [429] * 2
        assert "20 log-ins failed within 5 minutes" in found[-1].text
        assert log_in(visit, key(visit, "late", "read")).status_code == 303
        assert log_in(visit, "no").status_code == 429


def test_the_secret_is_made_once_and_is_nobody_elses(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    assert read_secret(path) == read_secret(path)
    assert path.stat().st_mode & 0o077 == 0
    assert read_secret(tmp_path / "another") != read_secret(path)
    assert read_secret(None) != read_secret(None)
    path.write_text("short")
    with pytest.raises(InputError, match=r"session_secret: .* at least 32 characters, got 5"):
        read_secret(path)
    with pytest.raises(InputError, match=r"session_secret: .* cannot be made or read \(no such file or directory\)"):
        read_secret(tmp_path / "nowhere" / "secret")


def test_processes_that_start_at_once_make_one_secret(tmp_path: Path) -> None:
    ready, found = threading.Barrier(8), []

    def start() -> None:
        ready.wait()
        found.append(read_secret(tmp_path / "secret"))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


@pytest.mark.parametrize("admin", [True, False])
@pytest.mark.parametrize("figures", [page_figures.rich("approve", "digest"), page_figures.empty()])
def test_names_and_reasons_stay_text(admin: bool, figures: Figures) -> None:
    visitor = Visitor("credit", page_figures.NASTY, admin, "token")
    pages = [
        views.gate_page(visitor, figures, page_figures.SPEC, page_figures.EVENTS, "key"),
        views.log_page(visitor, page_figures.EVENTS, "", None, True),
        *(views.event_page(visitor, event, [page_figures.CASE], None) for event in page_figures.EVENTS),
        views.case_page(visitor, page_figures.CASE),
    ]
    for page in pages:
        assert "<script>window" not in page
        assert "<b>bold" not in page
        assert "&lt;script&gt;window.hurt" in page
    assert "{{ 7 * 7 }}" in pages[0]
    assert ("Approve this proposal" in pages[0]) == (admin and bool(figures.status.waiting))


def case_page(**changes: Any) -> str:
    return views.case_page(Visitor("credit", "anna", False, "token"), page_figures.CASE.model_copy(update=changes))


def test_a_rejection_by_lottery_is_said_to_be_one() -> None:
    assert "another application with the same score could have been accepted" in case_page()
    assert "A lottery decided this" not in case_page(accepted=True)


def test_a_score_that_every_rule_of_a_lottery_rejects_is_not_said_to_be_rejected_by_lottery() -> None:
    page = case_page(by_lottery=False)
    assert "A lottery decided this" not in page
    assert "every rule of the lottery rejects this score" in page
    overridden = case_page(by_lottery=False, override="an appeal", accepted=True)
    assert "every rule of the lottery" not in overridden
    assert "every rule of the lottery" not in case_page()


def test_the_case_of_an_own_rule_has_no_policy_of_the_gate() -> None:
    page = case_page(mode="shadow", policy=None, threshold=None, draw=None, by_lottery=False)
    assert "<dt>Policy</dt><dd>the operator&#39;s own rule</dd>" in page.replace("'", "&#39;")
    assert "<dt>In the mode learn</dt><dd>accept from 0.6</dd>" in page
    assert "In the mode learn" not in case_page(mode="learn")


def gate_page(figures: Figures) -> str:
    """The page of a gate without its tags."""
    visitor = Visitor("credit", "anna", True, "token")
    page = views.gate_page(visitor, figures, page_figures.SPEC, page_figures.EVENTS, "key")
    return " ".join(re.sub(r"<[^>]+>", "", page).split())


def test_words_say_what_the_figures_are_of() -> None:
    rich = page_figures.rich()
    page = gate_page(rich)
    assert "from 60 of 120 rounds: those whose labels have nearly all come" in page
    assert "3 labels were corrected after being counted" in page
    assert page.count("Since 2026-11-16 05:39:12 UTC") == 1, "the other alarm has no beginning"
    assert "nobody has ever come" in page
    assert "the starting threshold, 0.5." in page
    assert "– to –" not in page
    for word in ("Residual", "Bin of"):
        assert word not in page
    one = rich.model_copy(
        update={
            "scopes": [rich.scopes[0].model_copy(update={"rounds": 1, "people": 1})],
            "labels": rich.labels.model_copy(update={"corrected": 1, "due_days": 1.0}),
        }
    )
    page = gate_page(one)
    assert "1 closed round, 1 person." in page
    assert "1 label was corrected after being counted" in page
    assert "for more than 1 day." in page
    assert "corrected after being counted" not in gate_page(page_figures.empty())


def test_charts_over_rounds_have_dates() -> None:
    rich = page_figures.rich()
    page = views.fragment(Visitor("credit", "a", False, "t"), rich, page_figures.SPEC, [], "key")
    charts = re.findall(r'<svg class="plot".*?</svg></div>', page, re.DOTALL)
    assert len(charts) == 3
    for chart in charts:
        named = re.findall(r'<text x="([\d.]+)%"[^>]*>(.*?)</text>', chart)
        assert [text for at, text in named if at == "0"] == ["round 0", "2026-07-19"]
        assert [text for at, text in named if at == "100"] == ["round 119", "2026-11-15"]


def test_outcomes_are_drawn_by_group() -> None:
    rich = page_figures.rich()
    page = views.fragment(Visitor("credit", "a", False, "t"), rich, page_figures.SPEC, [], "key")
    chart = page.partition("Outcomes by round")[2]
    first = re.search(r'<path class="line rate g0" d="([^"]+)"', chart)
    assert first is not None
    assert first[1] == "M0 45.00" + "".join(f"H{n}V45.00" for n in range(1, 90)) + "H90" + "".join(
        f"V205.00H{n}" for n in range(91, 121)
    )
    none = [each.model_copy(update={"outcomes": [None] * 3}) for each in rich.history]
    assert "Outcomes by round" not in gate_page(rich.model_copy(update={"history": none}))


def test_the_whole_history_can_be_seen(tmp_path: Path) -> None:
    """Every so many rounds of a long one; the figures are those of the API."""
    with visiting(tmp_path) as visit:
        gate = visit.gates["credit"]
        for number in range(205):
            if number % 100 == 0:
                done = gate.decide([f"a-{number}"], ["a"], [0.9])
                gate.outcomes([f"a-{number}"], [number // 100 % 2])
                assert done.accepted == [True]
            gate.close()
        log_in(visit, create_key(gate, "looks", ["read"]))
        last, whole = visit.get("/gates/credit").text, visit.get("/gates/credit?history=whole").text
        assert '<a href="/gates/credit?history=whole#rounds-title">The whole history</a>' in last
        assert "round 5</text>" in last
        assert "round 0</text>" in whole
        assert 'data-from="/gates/credit/now?history=whole"' in whole
        assert "round 0</text>" in visit.get("/gates/credit/now?history=whole").text
        found = gate.figures(100, whole=True).history
        assert [each.round for each in found] == list(range(0, 205, 4))
        assert {each.round: each.outcomes for each in found if each.people} == {
            0: [0.0, None], 100: [1.0, None], 200: [0.0, None],
        }  # fmt: skip
        assert [each.round for each in gate.figures(3).history] == [202, 203, 204]
        assert gate.figures(0, whole=True).history == []
        thinned = views.fragment(
            Visitor("credit", "a", False, "t"), gate.figures(100, whole=True), gate.spec, [], "key"
        )
        assert "One of every 4 rounds" in thinned


def test_bars_of_ages_are_shares_of_all_that_is_awaited() -> None:
    page = views.fragment(Visitor("credit", "a", False, "t"), page_figures.rich(), page_figures.SPEC, [], "key")
    widths = [float(each) for each in re.findall(r'class="part" x="0.000%" width="([\d.]+)%"', page)]
    assert widths == pytest.approx([100 * each / 4567 for each in (1990, 2256, 321)], abs=1e-3)


def test_a_chart_is_drawn_where_its_figures_are() -> None:
    svg = draw_interval(Figure(value=0.5, low=0.25, high=0.75), Axis(0.0, 2.0), "share", "gap", (None, 0.2))
    assert 'class="value beyond" cx="25.000%"' in svg
    assert 'class="bounds beyond" x="12.500%" width="25.000%"' in svg
    assert 'class="allowed" x="0.000%" width="10.000%"' in svg
    assert "gap: 50.0%, between 25.0% and 75.0%; allowed at most 20.0%" in svg
    assert "beyond" not in draw_interval(
        Figure(value=0.5, low=0.1, high=0.75), Axis(0.0, 2.0), "share", "gap", (None, 0.2)
    )
