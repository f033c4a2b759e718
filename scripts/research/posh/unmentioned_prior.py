"""How likely a claim is that no reference speaks of.

People who caption a picture name what stands out and leave out the rest: that nobody mentions a
tree in the background says little, that nobody mentions a wedding dress says much. What is
background is COCO-Stuff's notion (Caesar et al. 2018): its 91 classes without a shape of their own,
here with other words for places, ground, water, plants and parts of buildings. Parts come with
their wholes. The chances are stated, not learnt: any that keep this order do about as well.
"""

from __future__ import annotations

from revise_captions.graphs import words
from revise_captions.graphs.graph import Attribute, AttributeKind, Graph, Object, Relation
from revise_captions.graphs.triples import lemmas
from scripts.research.posh.boxes import side_of

#: COCO-Stuff's classes, each by its noun.
STUFF = words.listed(
    "banner blanket blind branch bridge building bush cabinet cage cardboard carpet ceiling "
    "cloth clothes cloud counter cupboard curtain desk dirt door fence floor flower fog food "
    "fruit furniture grass gravel ground hill house leaf light mat metal mirror moss mountain "
    "mud napkin net paper pavement pillow plant plastic platform playingfield railing railroad "
    "river road rock roof rug salad sand sea shelf sky skyscraper snow solid stair stone straw "
    "structure table tent textile towel tree vegetable wall water waterdrop window wood"
)
BACKGROUND = STUFF | words.listed(
    "air area asphalt backdrop background bay beach bookcase bookshelf brick cement city cliff "
    "coast concrete corridor countryside court courtyard deck desert driveway earth environment "
    "fabric facade field foliage foreground forest garden glass grassland greenery hallway "
    "harbor hedge highway hillside horizon interior island lake land landscape lane lawn "
    "leather location lot marble meadow neighborhood ocean park parking path pathway patio "
    "place plain pole pond pool porch rack rail rain room runway scenery shade shadow shore "
    "shoreline shrub sidewalk site soil space spot steel stream street sun sunlight surface "
    "surrounding surroundings tarmac terrain tile town track trail turf vegetation village "
    "wallpaper wave weather woodland woods yard"
)
PARTS = words.listed(
    "arm back beak belly button chest collar corner cover ear edge elbow eye face feather fin "
    "finger foot frame front fur hair hand handle head hoof horn ankle knee leg lid lip mane mouth "
    "muzzle neck nose paw petal pocket sleeve screen shoulder side skin stem strap tail tire top "
    "trunk twig wheel whisker wing label design pattern color colour shape texture material style "
    "feature detail decoration"
)
#: Words that claim nothing by themselves: what any picture has, and that it is seen or placed.
VAGUE = (
    words.FRAMES
    | words.GENERIC
    | words.QUANTITIES
    | words.SHOWING
    | words.LINKING
    | words.listed(
        "thing something someone somebody anything one other entity multiple number visible "
        "locate place position situate set main present"
    )
)
#: Words of grammar: prepositions, pronouns, auxiliaries, conjunctions; no negations.
GRAMMAR = words.listed(
    "a about above across after against all along alongside also am amid among an and another "
    "any around as at away back be because been before behind being below beneath beside "
    "besides between beyond both but by can close closer could despite did do does done down "
    "during each either except few for from further had has have having he her here him his how "
    "i if in inside into is it its just like may me might more most must my near nearby next of "
    "off on one onto opposite or our out outside over own past per rather same several shall "
    "she should so some still such than that the their them then there these they this those "
    "through throughout to together too toward towards under underneath until up upon very via "
    "was we were what when where which while who whose will with within would yet you your"
)
ANYTHING, BEHIND, PART, WORN, THING = 0.9, 0.8, 0.7, 0.5, 0.4
QUALITY, EXACT, RELATION, SIDE = 0.7, 0.6, 0.6, 0.5


def of_object(item: Object) -> float:
    head = lemmas(item.lemma).rpartition(" ")[2]
    for chance, known in (
        (ANYTHING, VAGUE),
        (BEHIND, BACKGROUND),
        (PART, PARTS),
        (WORN, words.CLOTHES),
    ):
        if head in known:
            return chance
    return THING


def of_attribute(item: Attribute) -> float:
    """Colours and numbers are easily wrong, other qualities less so."""
    if item.kind is AttributeKind.PLACE and side_of(item.value):
        return SIDE
    exact = item.kind is AttributeKind.COUNT or frozenset(item.value.split()) & words.COLORS
    return EXACT if exact else QUALITY


def of_relation(item: Relation) -> float:
    return SIDE if side_of(item.name) else RELATION


def chances(graph: Graph) -> list[float]:
    """For each of `components(graph)`, in their order: how likely it is where nothing is known."""
    return [
        *map(of_object, graph.objects),
        *map(of_attribute, graph.attributes),
        *map(of_relation, graph.relations),
    ]


def of_word(word: str) -> float:
    """The same of a single lemma that no caption has."""
    return BEHIND if word in BACKGROUND or word in PARTS else 0.0
