"""Words that tell `revise_captions.text.sentences` whether a full stop ends a sentence.

Written by hand, then completed from the errors on the train and dev parts of UD English EWT.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never the last word of a sentence. Keys are as written, capitals folded to `Mr`.
TITLES = _words(
    "Mr Mrs Ms Messrs Dr Prof Rev Hon Gen Col Maj Capt Cpt Lt Sgt Cpl Pvt Adm Cmdr Sen Rep Reps "
    "Gov Pres Supt Mme Mlle Mt Ft Vs Cf Approx Herr Sra Srta Dra Attn mr mrs ms dr prof vs cf eg "
    "ie e.g i.e P.s Ps Drs approx ca esp incl viz resp et bzw vgl inkl bspw ggf"
)
# Part of the number that follows.
NUMBERED = _words(
    "No Nos Nr Fig Figs Vol Vols P Pp Ch Sec Art Eq Tab Ser Op Pt Ext Tel Ph Jan Feb Mar Apr Jun "
    "Jul Aug Sep Sept Oct Nov Dec no nos nr fig figs vol vols p pp ch eq ext tel ph"
)
# May end a sentence, depending on the next word.
OPEN = _words(
    "Inc Ltd Co Corp Jr Sr Bros Ave Blvd Rd St Sq Hwy Dept Univ Assn Jan Feb Mar Apr Aug Sept "
    "Sep Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri Sat Fig Vol Ed Eds Gmbh Mfg Intl Natl "
    "Min Max Al al ed eds dept fig vol inc ltd"
)
# If a lower-case word follows a number and one of these, the sentence goes on.
MEASURES = _words(
    "ft in lb lbs oz cm mm m km kg g ml l hr hrs min mins sec secs yd yds sq mph cu qt pt gal "
    "hp w kw kwh mi dia"
)
# Capitalized, these open a sentence rather than continue a name.
STARTERS = _words(
    "a an the this that these those it it's its he he's she she's they they're we we're i i'm i've "
    "you his her their my our your there there's here in on at to from with without by for of "
    "behind below above beneath beside besides next near under over around along across between "
    "inside outside within beyond towards toward through both each every some many several most "
    "all one two three four five another other others overall also additionally furthermore "
    "moreover however although though while when whenever as if but and or so then thus what which "
    "who whose where why how after before because since until during not no nobody nothing yes "
    "once only even just still yet now please thanks thank let do does did is are was were can "
    "could will would should has have had any few more much such perhaps maybe visible nearby "
    "people someone everyone everything something"
)
