"""What the tables are about: measures with their units and magnitudes, entities, and polls.

Written for this world; it contains no text from a downloaded data set.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity that is plotted.

    Attributes:
        name: A noun phrase without article: "number of museum visitors".
        unit: What follows a value: "million", "U.S. dollars"; "%" without a space.
        low: Least typical value.
        high: Greatest typical value.
        decimals: Decimal places of its values.
        entities: Names of lists of `ENTITIES` that it can be broken down by; none: years only.
    """

    name: str
    unit: str
    low: float
    high: float
    decimals: int = 0
    entities: tuple[str, ...] = ()


_WHERE = ("countries", "states", "regions")
MEASURES: tuple[Measure, ...] = (
    Measure("number of museum visitors", "million", 2, 60, 1, ("countries", "cities", "museums")),
    Measure("unemployment rate", "%", 2, 24, 1, _WHERE),
    Measure("average price of a loaf of bread", "U.S. dollars", 0.8, 5, 2, ("countries", "cities")),
    Measure("annual rainfall", "millimeters", 200, 2400, 0, ("cities", "countries")),
    Measure("number of road deaths", "", 120, 9000, 0, _WHERE),
    Measure("wheat production", "million tonnes", 1, 140, 1, ("countries",)),
    Measure("revenue", "million euros", 40, 9000, 0, ("companies", "sectors")),
    Measure("number of employees", "", 900, 90000, 0, ("companies", "sectors")),
    Measure("life expectancy at birth", "years", 52, 86, 1, ("countries", "groups")),
    Measure("birth rate per thousand inhabitants", "", 7, 40, 1, ("countries", "regions")),
    Measure("share of households with broadband internet", "%", 8, 98, 0, _WHERE),
    Measure("number of registered electric cars", "thousand", 3, 900, 0, _WHERE),
    Measure("box office revenue", "million U.S. dollars", 30, 2400, 0, ("films", "studios")),
    Measure("number of monthly active users", "million", 5, 2600, 0, ("apps",)),
    Measure("coffee consumption per person", "kilograms", 1.5, 12, 1, ("countries",)),
    Measure("number of students enrolled", "thousand", 4, 800, 0, ("subjects", "states")),
    Measure(
        "carbon dioxide emissions", "million metric tons", 20, 5200, 0, ("countries", "sectors")
    ),
    Measure("electricity generation", "terawatt hours", 4, 700, 1, ("energy sources", "countries")),
    Measure("number of reported burglaries", "", 800, 96000, 0, ("cities", "states")),
    Measure("average monthly rent", "euros", 420, 2600, 0, ("cities",)),
    Measure("number of stores", "", 12, 4200, 0, ("companies", "states")),
    Measure("inflation rate", "%", 0.2, 14, 1, ("countries",)),
    Measure("population", "million inhabitants", 1.2, 90, 1, ("countries", "cities")),
    Measure("gross domestic product per capita", "thousand U.S. dollars", 1.4, 96, 1, _WHERE),
    Measure("number of passengers", "million", 3, 110, 1, ("airports", "cities")),
    Measure("number of goals scored", "", 12, 110, 0, ("clubs", "players")),
    Measure("average attendance", "", 4000, 81000, 0, ("clubs",)),
    Measure("market share", "%", 2, 48, 1, ("companies", "apps")),
    Measure("number of hospital beds per thousand inhabitants", "", 0.4, 13, 1, ("countries",)),
    Measure("advertising spending", "billion U.S. dollars", 0.5, 90, 1, ("sectors", "countries")),
    Measure("number of books sold", "thousand", 12, 4200, 0, ("genres", "authors")),
    Measure("fish catch", "thousand tons", 10, 1600, 0, ("countries", "species")),
    Measure("infant mortality rate per thousand live births", "", 1.8, 92, 1, ("countries",)),
    Measure("number of marriages", "thousand", 8, 410, 0, _WHERE),
    Measure("tourist arrivals", "million", 0.6, 88, 1, ("countries", "cities")),
    Measure("average weekly hours worked", "hours", 24, 46, 1, ("sectors", "countries")),
    Measure("national debt in relation to gross domestic product", "%", 18, 230, 1, ("countries",)),
    Measure("number of smartphone users", "million", 1, 420, 1, ("countries", "regions")),
)

ENTITIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "countries": ("country", (
        "France", "Germany", "Italy", "Spain", "Poland", "Portugal", "Greece", "Sweden", "Norway",
        "Denmark", "Finland", "Ireland", "Austria", "Hungary", "Romania", "Japan", "South Korea",
        "India", "China", "Indonesia", "Vietnam", "Thailand", "Brazil", "Argentina", "Chile",
        "Mexico", "Canada", "United States", "Nigeria", "Kenya", "Egypt", "Morocco", "Ghana",
        "South Africa", "Australia", "New Zealand", "Turkey", "United Kingdom", "Netherlands",
        "Switzerland", "Belgium", "Russia", "Ukraine", "Israel", "Saudi Arabia", "Pakistan",
    )),
    "states": ("state", (
        "California", "Texas", "Florida", "New York", "Ohio", "Georgia", "Michigan", "Oregon",
        "Colorado", "Arizona", "Washington", "Virginia", "Nevada", "Utah", "Iowa", "Kansas",
        "Maine", "Alabama", "Illinois", "Minnesota",
    )),
    "regions": ("region", (
        "Europe", "North America", "Latin America", "Asia Pacific", "Middle East", "Africa",
        "Central Asia", "Oceania", "Northeast", "Midwest", "South", "West",
    )),
    "cities": ("city", (
        "Paris", "London", "Berlin", "Madrid", "Rome", "Vienna", "Lisbon", "Oslo", "Dublin",
        "Prague", "Tokyo", "Seoul", "Mumbai", "Sydney", "Toronto", "Chicago", "Boston", "Lagos",
        "Cairo", "Lima", "Hamburg", "Milan", "Zurich", "Athens", "Warsaw",
    )),
    "museums": ("museum", (
        "City Gallery", "National Museum", "Museum of Science", "Harbor Museum", "Maritime Museum",
        "Museum of Modern Art", "Natural History Museum", "Railway Museum", "Palace Museum",
    )),
    "companies": ("company", (
        "Northwind", "Halden Group", "Brightline", "Oakmark", "Veltron", "Casa Foods", "Meridian",
        "Solace Energy", "Kestrel Motors", "Lumina", "Tri-State Holdings", "Apex Retail",
    )),
    "sectors": ("sector", (
        "Agriculture", "Construction", "Manufacturing", "Retail trade", "Health care", "Education",
        "Transport", "Finance and insurance", "Information", "Mining", "Public administration",
        "Hotels and restaurants", "Real estate",
    )),
    "groups": ("group", (
        "Men", "Women", "Ages 18-29", "Ages 30-49", "Ages 50-64", "Ages 65+", "Urban", "Rural",
        "Suburban",
    )),
    "films": ("film", (
        "The Long Harbor", "Silver Rain", "Night Ferry", "A Winter Garden", "Paper Kings",
        "Redwood", "The Last Cartographer", "Blue Hour", "Stone Orchard",
    )),
    "studios": ("studio", ("Paragon", "Blue Lantern", "Crestview", "Harborlight", "Titan", "Argo")),
    "apps": ("app", (
        "Chatter", "Pinboard", "Snapline", "Loop", "Vidly", "Friendspace", "Messago", "Gramma",
        "Streamly",
    )),
    "subjects": ("subject", (
        "Medicine", "Law", "Engineering", "History", "Biology", "Economics", "Psychology",
        "Computer science", "Education", "Chemistry", "Fine arts",
    )),
    "energy sources": ("energy source", (
        "Coal", "Natural gas", "Nuclear", "Hydropower", "Wind", "Solar", "Biomass", "Oil",
    )),
    "airports": ("airport", (
        "Heathrow", "Schiphol", "Changi", "Barajas", "Fiumicino", "Arlanda", "Kastrup", "Logan",
    )),
    "clubs": ("club", (
        "Rovers", "United", "Athletic", "Wanderers", "City FC", "Dynamo", "Olympic", "Racing",
        "Sporting",
    )),
    "players": ("player", (
        "Marco Silva", "Jonas Berg", "Ali Hassan", "Tom Walsh", "Pedro Ruiz", "Ken Sato",
        "Luca Rossi", "Erik Holm",
    )),
    "genres": ("genre", (
        "Crime", "Romance", "Fantasy", "Biography", "Cookbooks", "Travel", "Poetry", "Science",
        "Children's books",
    )),
    "authors": ("author", ("Ada Finch", "R. L. Moore", "Ines Prado", "Sven Dahl", "Mary Quill")),
    "species": ("species", ("Herring", "Cod", "Salmon", "Tuna", "Mackerel", "Sardine", "Shrimp")),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Poll:
    """A survey question: shares of answers, by group or over the years.

    Attributes:
        people: Who was asked: "U.S. adults".
        question: A clause that follows "who say": "the economy is in good shape".
        answers: What could be answered, in order.
        title: A headline that takes no side: true whatever the shares are.
    """

    people: str
    question: str
    answers: tuple[str, ...]
    title: str


_YES_NO = ("Yes", "No", "Don't know")
_AGREE = ("Strongly agree", "Somewhat agree", "Somewhat disagree", "Strongly disagree")
_GOOD = ("Good", "Bad", "No answer")
_CONCERN = ("Very concerned", "Somewhat concerned", "Not too concerned", "Not at all concerned")
_OFTEN = ("Often", "Sometimes", "Rarely", "Never")
_FAVOR = ("Favor", "Oppose", "Don't know")
_VIEW = ("Very favorable", "Mostly favorable", "Mostly unfavorable", "Very unfavorable")
POLLS: tuple[Poll, ...] = (
    Poll("adults", "the national economy is in good shape", _GOOD, "Views of the economy"),
    Poll("Americans", "climate change is a major threat", _YES_NO, "Climate change as a threat"),
    Poll("U.S. adults", "they get news on social media", _OFTEN, "News on social media"),
    Poll("parents", "they worry about screen time", _CONCERN, "Parents' worries about screens"),
    Poll("workers", "they are satisfied with their job", _AGREE, "How workers see their jobs"),
    Poll("registered voters", "taxes should be raised on large firms", _FAVOR, "Views on taxes"),
    Poll("teens", "they play video games every day", _YES_NO, "Video games among teens"),
    Poll("Europeans", "their country should take in more refugees", _FAVOR, "Views of refugees"),
    Poll("adults", "they have a favorable view of the United Nations", _VIEW, "Views of the UN"),
    Poll("internet users", "they read terms of service", _OFTEN, "Reading the small print"),
    Poll(
        "Americans", "religion is very important in their lives", _YES_NO, "Religion in daily life"
    ),
    Poll("adults", "free trade is good for their country", _GOOD, "Public opinion of free trade"),
    Poll("students", "they feel prepared for work", _AGREE, "Students and the job market"),
    Poll("U.S. adults", "scientists act in the public interest", _AGREE, "Trust in scientists"),
    Poll("voters", "health care is very important to their vote", _YES_NO, "Issues for voters"),
    Poll("drivers", "they would ride in a driverless car", _YES_NO, "Driverless cars"),
    Poll(
        "Internet users", "companies keep their data safe", _AGREE, "Trust in companies with data"
    ),
    Poll("Americans", "marijuana should be legal", _FAVOR, "Views of legalizing marijuana"),
    Poll("adults", "they eat meat", _OFTEN, "Who eats meat"),
    Poll("Germans", "trains are punctual", _AGREE, "How punctual trains seem"),
)
GROUPS: tuple[tuple[str, ...], ...] = (
    ("Men", "Women"),
    ("Ages 18-29", "30-49", "50-64", "65 and older"),
    ("White", "Black", "Hispanic", "Asian"),
    ("Republican/Lean Rep", "Democrat/Lean Dem"),
    ("Republican", "Independent", "Democrat"),
    ("High school or less", "Some college", "College graduate"),
    ("Urban", "Suburban", "Rural"),
    ("Protestant", "Catholic", "Jewish", "Unaffiliated"),
    ("Lower income", "Middle income", "Upper income"),
    ("France", "Germany", "Italy", "Spain", "Poland", "Sweden", "Greece", "Hungary"),
    ("Kenya", "Nigeria", "South Africa", "Ghana", "Senegal"),
    ("Japan", "South Korea", "India", "Australia", "Indonesia", "Philippines"),
)  # fmt: skip
SOURCES = (
    "Office of Civic Statistics", "Institute for Public Opinion", "Harbor Research Center",
    "National Survey Office", "Center for Social Data", "Bureau of Regional Studies",
)  # fmt: skip
#: Remarks that no chart shows: false as statements about the chart.
CONTEXT = (
    "This may be due to changes in government policy.",
    "The increase was largely driven by the new trade agreement.",
    "Experts expect this development to continue over the next decade.",
    "In the same year, parliament passed a law on the matter.",
    "The figures reflect the strong efforts of local authorities.",
    "Critics have said that the method of counting changed.",
    "By comparison, a survey five years earlier found a larger gap.",
    "This points to a need for better policies and interventions.",
    "The company was founded in the 1950s.",
    "Six-in-ten say they followed the story very closely that week.",
    "The president's approval stood at 43% at that time.",
    "The decline was caused by the financial crisis.",
    "Young people are much less likely to say this than those who live in large cities.",
    "In the previous survey, 37% had said the same.",
    "The situation is particularly worrying in rural areas.",
    "These results follow a long debate in the news media.",
    "The pandemic had a strong effect on these numbers.",
    "A spokesperson said that the target would be reached soon.",
    "Those with a higher level of education are more likely to have heard of it.",
    "The total includes online sales, which have been growing.",
)
