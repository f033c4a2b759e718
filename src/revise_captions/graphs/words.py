"""Word lists of the extractor and of coreference: closed classes, and what captions are made of."""

from __future__ import annotations


def listed(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


#: Nouns that speak of the picture, not of something in it, in "the image shows", "in this photo".
FRAMES = listed(
    "image picture photo photograph scene view shot snapshot frame "
    "composition focus description caption depiction perspective camera viewer atmosphere "
    "setting backdrop"
)
#: Frames that are things as well, where something is on, in or of them ("a photo on the wall").
PICTURES = listed("image picture photo photograph frame camera")
#: What is of something because it shows it, not because it is a part of it.
DEPICTIONS = PICTURES | listed(
    "shot view painting drawing statue sculpture portrait sketch figurine poster mural print toy "
    "bust model"
)
#: Verbs that say that something is in the picture.
SHOWING = listed(
    "show feature depict capture display contain portray present include see describe reveal "
    "showcase illustrate dominate"
)
#: Verbs of effect and opinion: no relation between things.
IDLE = listed(
    "add create suggest contribute serve enhance evoke convey provide give lend offer hint imply "
    "indicate make complement emphasize highlight invite seem appear exude bring draw tell "
    "remain become feature show include depict capture bear testify help allow speak imagine "
    "express evoke reflect_on"
)
#: Verbs whose new objects are the writer's thoughts.
EFFECTS = listed(
    "add create suggest contribute serve enhance evoke convey provide give lend offer hint imply "
    "indicate emphasize exude bring draw tell testify imagine express suggest invite speak"
)
#: Verbs that only link: their complement is the predicate.
LINKING = listed("seem appear look be become remain stay feel")
#: Verbs of color: what follows names a quality.
COLORING = listed("paint color colour dye tint bathe hue write print letter")
COLORS = listed(
    "red green blue yellow white black brown gray grey orange pink purple silver gold golden beige "
    "tan maroon teal turquoise navy cream crimson scarlet violet magenta cyan olive burgundy "
    "bronze lavender peach khaki ivory azure blond blonde"
)
SHADES = listed("dark light bright pale deep vivid soft rich dull navy baby royal sky lime hot off")
#: Nouns of color: "hues of orange", "a shade of pink".
HUES = listed("hue shade color colour tone tint")
#: What makes a quality with the word before it: "long sleeve shirt", "double decker bus".
KINDS = listed("sleeve screen decker link size rise lane color colour style type engine")
#: "a group of people": the people are the thing.
GROUPS = listed(
    "group bunch pair couple row line stack pile set cluster herd flock crowd piece slice number "
    "variety array collection series handful bit lot patch part bundle batch dozen hundred host "
    "trio mix assortment plenty majority kind type sort selection body sheet strip "
    "block layer range swarm pack fleet blend splash expanse silhouette outline bouquet carpet "
    "canopy scatter scattering sea multitude tangle mass heap string smattering sliver "
    "patchwork stretch puff"
)
#: "A plate of food": the plate has the food.
CONTAINERS = listed(
    "plate bowl basket glass cup bottle field box bag vase tray jar pot carton bucket container "
    "can mug pitcher pan crate platter cart pool forest"
)
#: Where something turns, lies or looks, said with a verb: "angled left", "stacked vertically".
DIRECTIONS = listed(
    "left right up down upward upwards downward downwards forward forwards backward backwards away "
    "inward outward sideways horizontally vertically diagonally together apart open closed "
    "upright straight upside-down overhead leftward rightward"
)
#: How much of a quality: "somewhat blurry", "much darker".
DEGREES = listed("somewhat almost quite much rather less slightly mostly far fairly more most")
#: Determiners and adjectives that count.
QUANTITIES = listed(
    "many several few multiple numerous some various countless dozens couple most both all "
    "another each every"
)
#: What is not put down as a count when turned into an attribute.
NO_COUNT = listed("some another each every all a an the one any most")
NUMBERS = {
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "eleven": "11",
    "twelve": "12",
    "dozen": "12",
}
#: Nouns that make a preposition with what stands around them: "on top of", "to the left of".
PLACES = listed(
    "top front side back middle left right center centre edge bottom corner end rear base "
    "inside outside midst heart tip lieu distance"
)
#: Parts that a thing has rather than is near: "face of the man".
NO_OBJECTS = listed(
    "sense feeling touch element addition testament contrast presence atmosphere ambiance ambience "
    "vibe mood charm beauty tranquility serenity depth texture interest life way attention "
    "overall moment time day night morning afternoon evening today experience style quality nature "
    "harmony balance contribution impression essence aspect detail appearance narrative story "
    "memory fact example effect use possibility variety absence lack importance significance "
    "history culture spirit readiness anticipation intrigue warmth vibrancy dynamism energy "
    "joy fun enjoyment relaxation comfort peace simplicity elegance majesty stillness calm "
    "motion movement action activity interaction conversation position positioning location "
    "arrangement layout contrast combination mixture palette design theme nod sort kind mid-air "
    "front direction size shape height manner fashion order progress condition state "
    "none nothing anything everything what which that this these those it there "
    "touch pop burst hint blur magic whimsy air scale context purpose place symbol content point "
    "journey landmark identifier network passersby despite scheme vantage star show centerpiece "
    "solitude world moment snapshot gateway glimpse look gaze pose stance posture color colour hue "
    "shade tone angle form grandeur sentinel appeal tableau portrayal choice force event "
    "turn flow enthusiasm bustle marvel length expression sight process age portrayal flight "
    "spectacle ambience aura focal feel vibrance midst play sense display flavor flavour gleam "
    "backdrop habitat prowess sport mid-flight mid-air mid-stride mid-motion"
)
#: Of these and of what annotators leave out, the ones that can be seen.
VISIBLE = listed(
    "shot view metal plastic iron leather texture shape form symbol scale patch piece star color "
    "colour design display detail portion part section extension midsection dealership shade hue "
    "evergreen indentation protrusion partition installation imperfection row pile end side top "
    "bottom edge spray streetlight swing plaid gaze expression pose inside swirl cluster "
    "reflection projection depression perforation decoration vegetation station intersection "
    "constellation inscription construction fortification excavation ship airship clutter border "
    "layer stance posture curl curve fringe exterior interior surface"
)
#: Words for anything: with "the", "its" or "these" they speak of what was named before, and where
#: it is not clear of what, of nothing new.
GENERIC = listed(
    "object item element structure subject figure individual feature area detail component "
    "accessory attire outfit ensemble entity companion piece counterpart surrounding surroundings"
)
#: Qualities that parsers of small vocabularies take for nouns before a noun.
ADJECTIVES = listed(
    "tranquil verdant snowy leafy breathtaking minimalist grassy wispy sandy sturdy floral bovine "
    "everyday overcast overhead gloomy azure earthy rustic pristine serene lush fluffy vibrant "
    "rocky picturesque majestic futuristic whimsical ornate rugged weathered sleek glossy muddy "
    "dusty cloudy misty foggy hazy starry sunny rainy stormy icy frosty mossy thorny bushy "
    "feathery furry fuzzy shaggy curly wavy frothy foamy choppy murky translucent transparent "
    "opaque shiny matte rusty worn faded tattered cracked jagged rounded circular rectangular "
    "triangular oval cylindrical spherical conical spiral curvy curved slender stocky chubby plump "
    "petite lanky muscular bald bearded blond blonde brunette elderly youthful teenage solitary "
    "lone distant nearby adjacent central outer inner upper lower uppermost topmost front rear "
    "bustling quaint cozy cosy spacious cramped cluttered tidy messy sparse dense lavish opulent "
    "plain ordinary exotic tropical alpine coastal urban rural suburban industrial residential "
    "medieval gothic victorian modern contemporary antique vintage retro classic traditional "
    "monochrome monochromatic multicolored multicoloured colorful colourful iridescent metallic "
    "reflective luminous radiant golden silvery amber crimson scarlet maroon turquoise teal beige "
    "tan khaki plaid checkered striped polka-dot patterned floral geometric abstract symmetrical "
    "intricate delicate dainty robust bulky massive enormous gigantic tiny miniature sizable "
    "steep gentle winding meandering barren fertile arid lush-green three-story "
    "two-story multi-story"
)
#: Personal pronouns by what they can stand for.
MALE = listed("he him his himself")
FEMALE = listed("she her hers herself")
NEUTER = listed("it its itself")
#: Members of what was named before.
MEMBERS = listed("one ones other others another")
GROUP = listed("they them their theirs themselves")
RELATIVE = listed("who whom whose which that")
PERSONS = listed(
    "person man woman boy girl child kid baby guy lady gentleman player skier surfer rider "
    "snowboarder skateboarder batter catcher pitcher people men women children toddler adult "
    "teenager figure individual someone somebody mother father worker officer soldier driver "
    "musician chef athlete cyclist pedestrian passenger spectator performer dancer friend bride "
    "groom couple student teacher artist fisherman farmer policeman umpire girl boys"
)
MALES = listed("man boy guy gentleman father son brother husband groom fisherman king")
FEMALES = listed("woman girl lady mother daughter sister wife bride queen waitress")
#: A later, wider name can stand for an earlier one: "a skier … the person", "a bus … the vehicle".
WIDER = {
    "person": PERSONS,
    "figure": PERSONS,
    "individual": PERSONS,
    "subject": PERSONS,
    "animal": listed(
        "dog cat horse cow sheep elephant giraffe zebra bear bird lion tiger goat pig deer "
        "rabbit fox wolf monkey puppy kitten bull donkey"
    ),
    "vehicle": listed("car bus truck van train motorcycle taxi tram jeep trolley"),
    "structure": listed("building tower bridge house church castle obelisk wheel"),
    "garment": listed("shirt jacket coat dress skirt robe"),
}
#: Who can do the deeds below.
BEINGS = (
    PERSONS
    | WIDER["animal"]
    | listed(
        "male female adult parent son human family crowd audience friend jockey biker umpire "
        "kitten pony lamb panda duck goose pigeon seagull cattle calf ram squirrel skater "
        "waiter waitress chef golfer boater hiker climber runner walker swimmer toddler staff"
    )
)
DEEDS = listed(
    "wear hold look stare gaze watch ride eat drink play catch throw carry feed talk smile laugh "
    "walk run jump kick read swing pet graze drive hit wait reach take cut ski surf snowboard "
    "skateboard bend lie lay sit kneel crouch squat sleep pose touch pull push try"
)
#: What neither sits nor walks itself.
BODY = listed(
    "hair beard mustache goatee head face arm leg hand foot tongue mouth nose ear eye neck back "
    "tail shoulder skin fur mane horn trunk beak spot stripe sunglasses glasses shoe boot glove "
    "sneaker top bottom sock t-shirt tee swimsuit bikini sweatshirt vest backpack collar"
)
#: What a person in it wears.
CLOTHES = listed(
    "shirt jacket coat dress suit hat cap uniform pants shorts jeans outfit attire clothes "
    "clothing tuxedo skirt vest sweater t-shirt wetsuit robe helmet tie hoodie gown costume "
    "blouse apron short sweatshirt t-shirts bikini swimsuit scarf glove sunglasses goggles sneaker "
    "shoe boot sandal cape collar jersey vest"
)
