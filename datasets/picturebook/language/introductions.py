"""Sentences that introduce something: openings, things, counts, lists, signs, weather, denials.

A maker writes one sentence of its family, or returns None if the scene gives no occasion.
"""

from __future__ import annotations

from dataclasses import replace

from revise_captions.picturebook.language.writer import (
    STANDING_KINDS,
    Writer,
    introduce,
    place_of,
    subject_of,
)
from revise_captions.picturebook.semantics.claims import (
    NP,
    Clause,
    Constraint,
    Has,
    Placed,
    SceneClaim,
    SentenceForm,
    Stands,
    Statement,
    main_slot,
)
from revise_captions.picturebook.semantics.facts import (
    absent_kinds,
    clearly_placed,
    draw_kind,
    may_say,
)
from revise_captions.picturebook.semantics.lexicon import PEOPLE, SETTING_FORMS
from revise_captions.picturebook.world.scene import KINDS, Scene, Thing


def opening(writer: Writer, rich: float) -> SentenceForm | None:
    if writer.chance(0.28):
        return _overview(writer, rich)
    scene, rng = writer.scene, writer.rng
    noun = rng.choice(SETTING_FORMS[scene.setting])
    mood = rng.choice(("", "", "", "quiet ", "peaceful ", "lovely ", "charming "))
    setting = SceneClaim("setting", scene.setting, noun=noun)
    article = "a"
    at = "on" if scene.setting in ("beach", "street") else "in"
    at = "on" if noun == "road" else at
    a = writer.noun
    claims: list[Clause] = [setting]
    head = rng.choice(
        (
            f"the {a} shows a {mood}{{l0}}", f"the {a} depicts a {mood}{{l0}}",
            f"this {a} shows a {mood}{{l0}}", f"this is {article}n image of a {mood}{{l0}}",
            f"the scene is set {at} a {mood}{{l0}}", f"the scene takes place {at} a {mood}{{l0}}",
            f"this {a} captures a {mood}{{l0}}", f"the {a} presents a {mood}{{l0}}",
        )
    )  # fmt: skip
    weather = weather_of(scene)
    roll = rng.random()
    if scene.setting == "room":
        if roll < 0.4:
            claims.append(SceneClaim("wall", scene.wall))
            return SentenceForm(head + " with {l1} walls.", tuple(claims))
    elif weather and roll < 0.35:
        claims.append(SceneClaim("weather", weather))
        claims.append(SceneClaim("time", scene.time))
        return SentenceForm(head + " on a {l1} {l2}.", tuple(claims))
    if roll < 0.65:
        claims.append(SceneClaim("time", scene.time))
        tail = rng.choice(
            (" at night",) if scene.time == "night" else (" during the day", " by day")
        )
        fixed = {"night": ("at night",), "day": ("during the day", "by day")}[scene.time]
        tail = rng.choice(fixed)
        claims[-1] = SceneClaim("time", scene.time, noun=tail)
        return SentenceForm(head + " {l1}.", tuple(claims))
    if roll < 0.85:
        things = writer.fresh()[: rng.choice((1, 1, 2))]
        statements = [Statement(introduce(writer, t, rich * 0.7)) for t in things]
        fields = " and ".join(f"{{s{i + 1}}}" for i in range(len(statements)))
        return SentenceForm(head + f" with {fields}.", (setting, *statements))
    return SentenceForm(head + ".", tuple(claims))


def weather_of(scene: Scene) -> str:
    """What may be said about the weather: nothing about a clear sky with a cloud in it."""
    if scene.setting == "room" or (scene.weather == "clear" and scene.of_kind("cloud")):
        return ""
    return scene.weather


def _overview(writer: Writer, rich: float) -> SentenceForm | None:
    """ "The image shows a house, a tree and two dogs." """
    things = writer.fresh()
    groups: dict[str, list[Thing]] = {}
    for thing in things:
        groups.setdefault(thing.kind, []).append(thing)
    kinds = list(groups)[: writer.rng.choice((2, 3, 3, 4))]
    if len(kinds) < 2:
        return None
    nps = []
    for kind in kinds:
        total = len(writer.scene.of_kind(kind))
        if total > 1 and len(groups[kind]) == total:
            nps.append(NP("number", (kind,), (), total))
        else:
            nps.append(introduce(writer, groups[kind][0], rich * 0.45))
    verb = writer.pick("shows", "features", "contains", "depicts", "includes")
    fields = [f"{{s{i}}}" for i in range(len(nps))]
    comma = writer.pick(" and ", ", and ") if len(nps) > 2 else " and "
    listed = ", ".join(fields[:-1]) + comma + fields[-1]
    lead = writer.pick(f"the {writer.noun} {verb} {listed}.", f"the {writer.noun} {verb} {listed}.",
                       f"in this {writer.noun}, there {{be0}} {listed}.",
                       f"we can see {listed}.")  # fmt: skip
    return SentenceForm(lead, tuple(Statement(np) for np in nps))


def exists(writer: Writer, rich: float) -> SentenceForm | None:
    """ "To the left of the house, there is a small dog." """
    things = writer.fresh()
    if not things:
        return None
    thing = things[0]
    rng = writer.rng
    np = introduce(writer, thing, rich)
    if np.det == "the":
        return _sky_light(writer, thing)
    place = place_of(writer, thing, pronouns=True)
    if place is None:
        template = rng.choice(
            ("there {be0} {s0}.", "there {be0} also {s0}.", "{s0} can be seen.",
             f"the {writer.noun} also shows {{s0}}.", "{s0} {be0} visible.",
             "nearby, there {be0} {s0}.", f"there {{be0}} {{s0}} in the {writer.noun}.",
             "in addition, there {be0} {s0}.",
             "we can also see {s0}.", f"the {writer.noun} includes {{s0}}.")
        )  # fmt: skip
        return SentenceForm(template, (Statement(np),))
    np = replace(np, constraints=(*np.constraints, place))
    upright = thing.kind in STANDING_KINDS and isinstance(place, Stands)
    options = ["{r0}, there {be0} {s0}.", "{r0}, there {be0} {s0}.", "there {be0} {s0} {r0}.",
               "{s0} can be seen {r0}.", "{s0} {be0} visible {r0}.", "{r0}, {s0} can be seen.",
               "{r0}, you can see {s0}.", "{s0} {be0} {r0}.", "{r0} {be0} {s0}."]  # fmt: skip
    if upright or (isinstance(place, Stands) and thing.slots.get("pose") == "standing"):
        options += ["{r0} stands {s0}.", "{s0} stands {r0}."]
    return SentenceForm(rng.choice(options), (Statement(np),))


def _sky_light(writer: Writer, thing: Thing) -> SentenceForm | None:
    sides = [p for p in ("left", "right") if clearly_placed(p, thing)]
    np = NP("the", (thing.kind,))
    if sides and writer.chance(0.4):
        place = Placed(sides[0], writer.rng.randrange(2))
        return SentenceForm(
            writer.pick(
                "{s0} is visible {r0}.", "{r0}, {s0} is shining.", "{s0} can be seen {r0}."
            ),
            (Statement(replace(np, constraints=(place,))),),
        )
    return SentenceForm(
        writer.pick(
            "{s0} is shining in the sky.", "{s0} can be seen in the sky.", "{s0} is out.",
            "{s0} hangs in the sky.",
        ).replace(" is out", " is visible"),
        (Statement(replace(np, constraints=()), ()),),
    )  # fmt: skip


def action(writer: Writer, rich: float) -> SentenceForm | None:
    """ "A girl in a yellow shirt is waving next to the tree." """
    things = [t for t in writer.fresh() if "pose" in t.slots]
    if not things:
        return None
    thing = things[0]
    if not may_say(writer.scene, thing.kind, "pose", thing.slots["pose"]):
        return None
    pose = Has("pose", thing.slots["pose"], writer.rng.randrange(2))
    preds: tuple[Constraint, ...] = (pose,)
    place = place_of(writer, thing, pronouns=True) if writer.chance(0.6) else None
    if place is not None:
        preds = (pose, place)
    style = writer.pick("", "", "verb") if pose.value != "jumping" else ""
    np = introduce(writer, thing, rich)
    roll = writer.rng.random()
    if place is not None and roll < 0.25:
        np = replace(np, constraints=(*np.constraints, place))
        return SentenceForm("{r0}, {s0} {p0}.", (Statement(np, (pose,)),))
    if roll > 0.85:
        who = "who" if thing.kind in PEOPLE else "that"
        return SentenceForm(f"there {{be0}} {{s0}} {who} {{p0}}.", (Statement(np, preds),))
    return SentenceForm("{c0}.", (Statement(np, preds, style=style),))


def counted(writer: Writer, rich: float) -> SentenceForm | None:
    """ "There are three balloons in the picture.", "Two dogs are sleeping on the left." """
    scene, rng = writer.scene, writer.rng
    fresh = sorted({t.kind for t in writer.fresh()})
    kinds = [k for k in fresh if len(scene.of_kind(k)) > 1]
    alone = [k for k in fresh if k not in kinds and KINDS[k].most > 1]
    if alone and writer.chance(0.16 if kinds else 0.3):
        one = NP("number", (rng.choice(alone),), (), 1)
        return SentenceForm(
            writer.pick(f"there is only {{s0}} in the {writer.noun}.", "{s0} can be seen.",
                        "there {be0} exactly {s0}.", f"there {{be0}} {{s0}} in the {writer.noun}.",
                        f"the {writer.noun} shows {{s0}}.", "{s0} {be0} visible."),
            (Statement(one),),
        )  # fmt: skip
    if not kinds:
        return None
    kind = rng.choice(kinds)
    things = list(scene.of_kind(kind))
    constraints: tuple[Constraint, ...] = ()
    main = main_slot(kind)
    if main and writer.chance(0.45 * rich):
        color = rng.choice(things).slots[main]
        same = [t for t in things if t.slots[main] == color]
        if len(same) > 1 and may_say(scene, kind, main, color):
            things, constraints = same, (Has("", color),)
    np = NP("number", (kind,), constraints, len(things))
    poses = {t.slots.get("pose", "") for t in things}
    if len(poses) == 1 and "" not in poses and writer.chance(0.5):
        pose = Has("pose", poses.pop())
        return SentenceForm("{c0}.", (Statement(np, (pose,)),))
    template = rng.choice(
        ("there {be0} {s0}.", f"there {{be0}} {{s0}} in the {writer.noun}.", "{s0} can be seen.",
         f"the {writer.noun} shows {{s0}}.", "{s0} {be0} visible.", "we can see {s0}.",
         "a total of {s0} can be seen.", f"there {{be0}} exactly {{s0}} in the {writer.noun}.")
    )  # fmt: skip
    if all(clearly_placed("sky", t) for t in things) and writer.chance(0.5):
        template = rng.choice(("{s0} {be0} floating in the sky.", "{s0} can be seen in the sky."))
        if kind not in ("balloon", "cloud", "kite"):
            template = "{s0} can be seen in the air."
    return SentenceForm(template, (Statement(np),))


def listed(writer: Writer, rich: float) -> SentenceForm | None:
    """ "There is also a dog and a red ball." """
    things = [t for t in writer.fresh() if t.kind not in ("sun", "moon")]
    if len(things) < 2:
        return None
    things = list({thing.kind: thing for thing in things}.values())
    if len(things) < 2:
        return None
    number = 2 if len(things) == 2 or writer.chance(0.7) else 3
    nps = [introduce(writer, t, rich * 0.7) for t in things[:number]]
    fields = [f"{{s{i}}}" for i in range(number)]
    text = ", ".join(fields[:-1]) + " and " + fields[-1]
    template = writer.pick(f"there is also {text}.", f"there is {text}.", f"{text} can be seen.",
                           f"the {writer.noun} also shows {text}.", f"{text} are visible.",
                           f"we can also see {text}.", f"{text} can be seen as well.")  # fmt: skip
    return SentenceForm(template, tuple(Statement(np) for np in nps))


def sign(writer: Writer, _rich: float) -> SentenceForm | None:
    """ "The sign says STOP.", "It bears the word "CAFE"." """
    signs = writer.scene.of_kind("sign")
    if not signs:
        return None
    thing = signs[0]
    form = writer.rng.randrange(12)
    word = Has("word", thing.slots["word"], form)
    if thing.id not in writer.introduced:
        if form % 4 < 2 and writer.chance(0.5):
            np = introduce(writer, thing, 0.8)
            place = place_of(writer, thing, pronouns=False)
            if place is not None and writer.chance(0.5):
                np = replace(np, constraints=(*np.constraints, place))
                return SentenceForm("{r0}, {s0} {p0}.", (Statement(np, (word,)),))
            return SentenceForm("{c0}.", (Statement(np, (word,)),))
        np = introduce(writer, thing, 0.8)
        np = replace(np, constraints=(*np.constraints, word))
        return SentenceForm(writer.pick("there {be0} {s0}.", "{s0} can be seen."), (Statement(np),))
    subject = subject_of(writer, thing)
    return None if subject is None else SentenceForm("{c0}.", (Statement(subject, (word,)),))


def negation(writer: Writer, _rich: float) -> SentenceForm | None:
    """ "There are no cats in the picture.", "There is no sun in the sky." """
    scene, rng = writer.scene, writer.rng
    absent = absent_kinds(scene)
    if not absent:
        return None
    kind = draw_kind(absent, rng, denied=True)
    if rng.random() < 0.12 and not any(scene.of_kind(k) for k in PEOPLE):
        np = NP("no", PEOPLE, (), 0, noun="person")
    else:
        np = NP("no", (kind,), (), rng.choice((0, 1)) if KINDS[kind].most > 1 else 1)
    template = rng.choice(
        (f"there {{be0}} {{s0}} in the {writer.noun}.", "there {be0} {s0}.", "{s0} can be seen.",
         "{s0} {be0} visible.")
    )  # fmt: skip
    return SentenceForm(template, (Statement(np),))


def surroundings(writer: Writer, _rich: float) -> SentenceForm | None:
    """ "It is night.", "The sky is cloudy.", "The walls of the room are pink." """
    scene = writer.scene
    weather = weather_of(scene)
    if scene.setting == "room" and writer.chance(0.6):
        wall = SceneClaim("wall", scene.wall)
        return SentenceForm(
            writer.pick("the walls are {l0}.", "the walls of the room are {l0}.",
                        "the room has {l0} walls."),
            (wall,),
        )  # fmt: skip
    roll = writer.rng.random()
    if weather and roll < 0.45:
        claim = SceneClaim("weather", weather)
        options = ["the weather is {l0}.", "it is {l0}."]
        if weather == "rainy":
            options += ["the weather is {l0}."]
        else:
            options += ["the sky is {l0}."]
        return SentenceForm(writer.rng.choice(options), (claim,))
    if weather and roll < 0.65:
        claims = (SceneClaim("weather", weather), SceneClaim("time", scene.time))
        return SentenceForm("it is a {l0} {l1}.", claims)
    if roll < 0.85:
        noun = writer.pick(scene.time, f"{scene.time}time")
        return SentenceForm("it is {l0}.", (SceneClaim("time", scene.time, noun=noun),))
    return SentenceForm(
        writer.pick("the setting is a {l0}.", "the scene is a {l0}."),
        (SceneClaim("setting", scene.setting),),
    )
