"""English function words, which claim nothing by themselves, and irregular content words."""

from __future__ import annotations

_FUNCTION_WORDS = """
    a an the this that these those each every either neither both all any some no none such what
    which who whom whose another other others same own one ones many much more most few fewer less
    least several enough plenty lot lots half
    i me my mine myself you your yours yourself yourselves he him his himself she her hers herself
    it its itself we us our ours ourselves they them their theirs themselves someone somebody
    something somewhere anyone anybody anything anywhere everyone everybody everything everywhere
    nobody nothing nowhere there here where when why how whether whatever whichever whoever
    whenever wherever however
    be am is are was were been being do does did done doing have has had having will would shall
    should can could may might must ought cannot let lets
    isn aren wasn weren don doesn didn haven hasn hadn won wouldn shan shouldn couldn mightn mustn
    ain ll re ve
    and or but nor so yet if then than because since while whereas although though unless until as
    of to in on at by for with without within from into onto upon about above across after against
    along alongside amid among amongst around round away before behind below beneath beside besides
    between beyond despite down during except inside like near next off out outside over past per
    through throughout till toward towards under underneath unlike up via amidst atop aside apart
    back ahead forward instead together
    not never ever always often sometimes usually again once twice already still now just only even
    also too very quite rather fairly really almost nearly hardly barely merely perhaps maybe
    probably possibly certainly clearly actually indeed thus hence therefore moreover furthermore
    meanwhile additionally otherwise else well etc yes ok okay please oh
"""
#: Determiners, pronouns, prepositions, conjunctions, auxiliaries, particles, adverbs of degree and
#: stance, and the pieces of contractions. Numbers are content, except "one".
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())

_FORMS = """
    man men; woman women; child children; person people persons; foot feet; tooth teeth;
    goose geese; mouse mice; ox oxen; leaf leaves; wolf wolves; knife knives; shelf shelves;
    calf calves; scarf scarves; loaf loaves; life lives; wife wives; hoof hooves; sit sat;
    stand stood; lie lay lain lying; lay laid; run ran; fly flew flown flies; swim swam swum;
    wear wore worn; hold held; see saw seen; show shown; hang hung; ride rode ridden;
    drive drove driven; eat ate eaten; drink drank drunk; sleep slept asleep; swing swung;
    throw threw thrown; catch caught; grow grew grown; shine shone; fall fell fallen;
    rise rose risen; lead led; write wrote written; draw drew drawn; take took taken;
    give gave given; go went gone goes; come came; make made; build built; leave left; keep kept;
    say said; tell told; find found; begin began begun; break broke broken; wake woke woken awake;
    blow blew blown; sing sang sung; light lit; feel felt; think thought; buy bought; bring brought;
    fight fought; teach taught; feed fed; lean leant; leap leapt; kneel knelt; bend bent;
    spend spent; send sent; lose lost; meet met; win won; sink sank sunk; stick stuck;
    strike struck; tear tore torn; bite bit bitten; hide hid hidden; shake shook shaken;
    steal stole stolen; speak spoke spoken; choose chose chosen; freeze froze frozen;
    know knew known; good better best; bad worse worst; far farther farthest further furthest;
    color colour; colored coloured; colorful colourful; gray grey; center centre;
    favorite favourite
"""


def _irregular() -> dict[str, tuple[str, ...]]:
    made: dict[str, tuple[str, ...]] = {}
    for group in _FORMS.split(";"):
        base, *others = group.split()
        for form in (base, *others):
            made[form] = (*made.get(form, ()), base)
    return made


#: Irregular form -> the words that it may be a form of.
IRREGULAR = _irregular()
