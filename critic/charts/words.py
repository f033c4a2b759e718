"""Content words: what is left of a text without function words and the language of charts."""

from __future__ import annotations

import functools
import re

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
#: Letters by which two forms of a word are taken for one.
STEM = 5

_FUNCTION = """
a about above according across after again against ago all almost also although among an and
another any are around as at away back be became because become been before began behind being
below between both but by came can close come compared comparison consider considered continue
could despite did different do does doing down due during each early either else end ended ending
enough even ever every exactly except far few fewer first five followed following for four from
further get give given go going had half has have having he her here higher his how however i if
in including indeed instead interesting interestingly into is it its itself just know known last
late later latter least less like likely little long look looking low lower made main mainly major
majority make many may me mean might more most mostly much must my near nearly neither never next
nine no nor not notable notably noted nothing now of off often on once one only onto or other
others otherwise our out over overall own per perhaps period place point possible quite rather
reach reached reaching recent recently relative relatively remain remained remaining respective
respectively same say saying says second see seem seems seen seven several shall she should
similar similarly since six slight slightly small so some somewhat soon specific specifically
still such take ten than that the their them themselves then there therefore these they third this
those though three through throughout thus time times to together too toward towards twice two
under until up upon us use used using various very was we well were what when where whereas
whether which while who whole whom whose why will with within without would yet you your
additionally meanwhile furthermore moreover conversely hand contrast approximately roughly
"""
_CHART = """
amount annual annually average axis bar bars categories category change changed changes chart
circa climb climbed climbs column columns combined compare compares comparing comparison
consistent consistently constant continuous continuously count curve data decline declined
declines declining decrease decreased decreases decreasing depict depicted depicting depicts
detail details development diagram dip dipped display displayed displaying displays distribution
drop dropped drops entries entry equal exceed exceeded exceeding exceeds fall fallen falling falls
fell figure figures fluctuate fluctuated fluctuates fluctuating fluctuation fluctuations gap
general generally gradual gradually graph great greater greatest grew group groups grow growing
grown growth height high highest horizontal illustrate illustrated illustrates illustrating
increase increased increases increasing indicate indicated indicates indicating individual
information item items label labeled large larger largest lead leading leads legend level levels
line lines list listed lists lowest magnitude mark marked maximum measure measured measures median
middle million minimum minor moderate month monthly noticeable number numbers observe observed
occur occurred order particular pattern peak peaked peaking percent percentage percentages plot
plotted portion present presented presents proportion provide provided provides quantity range
ranged ranges ranging rank ranked ranking rate rates ratio record recorded records reflect
reflected reflecting report reported represent represented representing represents result results
rise risen rises rising rose row scale score section segment separate sharp sharply show showed
showing shown shows significant significantly size smaller smallest span spanning stable stagnant
stand standing stands start started starting state stated stay stayed steadily steady steep stood
stretch subsequent sum surpass surpassed surpassing table tall taller tend tendency thousand title
top total trend trends typical unchanged unit units upward downward value values variation
variations varied varies vary varying vertical volume visual visually x year yearly years y share
left leftmost right rightmost edge edges corner gridline gridlines
shares respondents respondent survey surveyed conducted source people individuals population
person adults points dataset billion trillion hundred decade decades century
"""
#: What captioners say of any chart: its parts, its course, and what they make of it.
_ANALYSIS = """
entity entities suggest suggests suggested suggesting clear clearly appear appears appearing exhibit
exhibits exhibited exhibiting regarding concerning associated based substantial substantially
distinct demonstrate demonstrates demonstrated demonstrating showcase showcases showcasing
trajectory numerical statistics versus finally lastly initial initially topic topics various varied
visible analysis summary brief corresponding corresponds terms common commonly evident evidenced
remarkable remarkably note noted notes shift shifts peaks trough troughs attribute attributes field
fields insight insights outline outlines highlight highlights highlighting emphasize emphasizes
emphasizing capture captured captures mirror mirrors mention mentioned mentions contrast contrasts
contrasting comparative comparable maintain maintains maintained certain characterized crossover
extrema extremes disparity variability clustered onwards former beginning begin ends feature
features featuring focus focuses focusing reveal reveals revealed imply implies depiction overview
context perspective accordingly hence thereby collectively altogether vast majority minority thirds
quarter quarters fifth halves double doubled doubles doubling triple tripled twofold eleven twelve
twenty thirty forty fifty january february march april june july august september october november
december subset relationship correlation difference differences different distinction distribution
division essentially particularly predominantly primarily largely markedly dramatic dramatically
drastic drastically modest modestly marginal minimal considerable considerably stark starkly
pronounced prominent evolution progression progressively recovery recover rebound rebounded surge
surged plunge plunged plummeted soared spike spiked jump jumped swings stability stabilized plateau
plateaued volatility volatile uptick downturn upturn gained lose losing loss shrank narrow narrowed
narrowing widened widening balance balanced even evenly equally precise precisely accurate
accurately determine determined cannot image alone allow allows reference marking sees experiencing
experienced series form forms formed rapid rapidly fairly outnumber outnumbered outnumbers
approx frame timeframe nearing along length shaded area uncertainty ups downs metric goes
towards broken breaking play plays role organized denote denoted denotes
"""


def stem(word: str) -> str:
    """A word's first letters, in lower case."""
    return word.casefold()[:STEM]


@functools.cache
def function_words() -> frozenset[str]:
    """Words of any text, such as "the" and "whereas"."""
    return frozenset(_FUNCTION.split())


@functools.cache
def chart_words() -> frozenset[str]:
    """Words that speak of charts in general."""
    return frozenset(_CHART.split())


@functools.cache
def general_stems() -> frozenset[str]:
    """Stems of function words and of words that speak of charts in general."""
    return frozenset(stem(word) for word in function_words() | chart_words())


@functools.cache
def _analytic_stems() -> frozenset[str]:
    return frozenset(stem(word) for word in _ANALYSIS.split())


def subject_stems(text: str) -> frozenset[str]:
    """The content stems of a text that say what a chart is about, not how one describes it."""
    return content_stems(text) - _analytic_stems()


def words_of(text: str) -> list[str]:
    """The words of a text, hyphenated ones in parts."""
    return [part for found in _WORD.findall(text) for part in re.split(r"[-'’]", found) if part]


def content_stems(text: str) -> frozenset[str]:
    """Stems of the words of a text that neither function words nor the language of charts has."""
    stems = {stem(word) for word in words_of(text) if len(word) > 2}
    return frozenset(stems - general_stems())
