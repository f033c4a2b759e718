"""The annotation interfaces: what raters see and answer, as Label Studio configurations.

`factuality` and `critique` follow VNLI-Critique, appendix C (figures 3 and 4): the image, the whole
caption with one sentence marked, and the questions. `preference` is an addition: two versions of a
sentence in their captions, in random order.

Captions are untrusted text. They reach Label Studio as data only, never as part of a configuration,
and are escaped where they are shown as HTML (to mark the sentence).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from markupsafe import Markup

from revise_captions.benchmarks.types import Vote
from revise_captions.outside_text import plain
from revise_captions.pipelines.annotate.tasks.units import ItemTarget, SentenceInCaption, Unit
from revise_captions.text.html import visible

RATERS = 5
FACTUALITY, CRITIQUE, PREFERENCE = "factuality", "critique", "preference"
#: Figure 4's answers.
QUALITY = ("Nothing to assess", "Correct", "Neutral", "Incorrect")
VOTES = tuple(str(vote).capitalize() for vote in Vote)
FIRST, SECOND, EQUAL, UNSURE = "First", "Second", "Equal", "Cannot tell"


@dataclass(frozen=True, slots=True)
class Interface:
    """One labeling interface.

    Attributes:
        config: Label Studio's labeling configuration.
        main: The control that every answer must have.
        controls: Choices of each control; () for free text.
        columns: Task data that a sheet shows, in order.
    """

    name: str
    asks: tuple[ItemTarget, ...]
    config: str
    main: str
    controls: Mapping[str, tuple[str, ...]]
    columns: tuple[str, ...]


_HEAD = """<View>
  <Style>
    .caption-columns {{ display: flex; gap: 2rem; align-items: flex-start; }}
    .caption-picture {{ flex: 45%; }}
    .caption-text {{ flex: 55%; }}
    mark {{ background: #ffe58f; color: inherit; font-weight: 600; }}
  </Style>
  <View className="caption-columns">
    <View className="caption-picture">
      <Image name="picture" value="$image" zoom="true"/>
    </View>
    <View className="caption-text">
{body}
    </View>
  </View>
</View>
"""


def _choices(name: str, choices: tuple[str, ...]) -> str:
    lines = "\n".join(f'        <Choice value="{choice}"/>' for choice in choices)
    return (
        f'      <Choices name="{name}" toName="caption" choice="single-radio" '
        f'required="true" showInline="true">\n{lines}\n      </Choices>'
    )


_CAPTION = """      <Header value="$place"/>
      <HyperText name="caption" value="$html" valueType="text" inline="true"/>"""

_FACTUALITY = f"""{_CAPTION}
      <Header value="Does the marked sentence include a claim about the image?"/>
{_choices("needs_image", ("Yes", "No"))}
      <Header value="Is the marked sentence factual, judged by the image?"/>
{_choices("label", VOTES)}
      <View visibleWhen="choice-selected" whenTagName="label"
            whenChoiceValue="Neutral,Contradiction">
        <Header value="What is wrong with it, and what is there instead?"/>
        <TextArea name="rationale" toName="caption" rows="3" maxSubmissions="1" editable="true"
                  required="true" requiredMessage="Say in a sentence what is wrong."/>
      </View>"""

_CRITIQUE = f"""{_CAPTION}
      <Header value="Predicted explanation"/>
      <Text name="shown_explanation" value="$explanation" valueType="text"/>
      <Header value="Is the explanation correct, given the marked sentence and the image?"/>
{_choices("quality", QUALITY)}"""

_PREFERENCE = f"""      <Header value="First version"/>
      <HyperText name="caption" value="$html_first" valueType="text" inline="true"/>
      <Header value="Second version"/>
      <HyperText name="other" value="$html_second" valueType="text" inline="true"/>
      <Header value="Which marked sentence is truer of the image?"/>
{_choices("truer", (FIRST, SECOND, EQUAL, UNSURE))}"""

INTERFACES: Mapping[str, Interface] = MappingProxyType(
    {
        FACTUALITY: Interface(
            FACTUALITY,
            (ItemTarget.ORIGINAL, ItemTarget.REVISED),
            _HEAD.format(body=_FACTUALITY),
            "label",
            {"needs_image": ("Yes", "No"), "label": VOTES, "rationale": ()},
            ("place", "sentence", "caption"),
        ),
        CRITIQUE: Interface(
            CRITIQUE,
            (ItemTarget.CRITIQUE,),
            _HEAD.format(body=_CRITIQUE),
            "quality",
            {"quality": QUALITY},
            ("place", "sentence", "caption", "explanation"),
        ),
        PREFERENCE: Interface(
            PREFERENCE,
            (ItemTarget.PREFERENCE,),
            _HEAD.format(body=_PREFERENCE),
            "truer",
            {"truer": (FIRST, SECOND, EQUAL, UNSURE)},
            ("first_sentence", "second_sentence", "first_caption", "second_caption"),
        ),
    }
)
#: By what is asked, the interface that asks it.
ASKING = {asked: name for name, found in INTERFACES.items() for asked in found.asks}


def data_of(unit: Unit, asked: ItemTarget, image: str) -> dict[str, object]:
    """A task's data.

    No key is a control's name, as JSON-MIN and CSV exports put both into one object. Nothing
    reveals the critic's verdict or which version is the rewrite.
    """
    head: dict[str, object] = {"item": unit.item(asked), "image": image}
    if asked is ItemTarget.PREFERENCE:
        first, second = pair(unit)
        return head | {
            "first_sentence": plain(first.sentence),
            "second_sentence": plain(second.sentence),
            "first_caption": plain(first.caption),
            "second_caption": plain(second.caption),
            "html_first": marked(first),
            "html_second": marked(second),
        }
    text = unit.original if asked is not ItemTarget.REVISED else unit.revised
    if text is None:
        raise ValueError(f"unit {unit.id} has no rewrite to ask about")
    head |= {
        "place": f"Sentence {text.number} of {text.count}",
        "sentence": plain(text.sentence),
        "html": marked(text),
    }
    if asked is ItemTarget.CRITIQUE:
        return head | {"caption": plain(text.caption), "explanation": plain(unit.rationale)}
    # what `protocol.label_studio` reads, so that an export is a benchmark as it is
    start, end = text.span
    return head | {"caption": text.caption, "start": start, "end": end, "model": ""}


def pair(unit: Unit) -> tuple[SentenceInCaption, SentenceInCaption]:
    """The two versions in the order that raters see."""
    if unit.revised is None:
        raise ValueError(f"unit {unit.id} has no rewrite to compare")
    both = (unit.original, unit.revised)
    return (both[1], both[0]) if unit.swapped else both


def marked(text: SentenceInCaption) -> str:
    """The caption as escaped HTML, line breaks kept, with the sentence marked."""
    start, end = text.span
    before, after = text.caption[:start], text.caption[end:]
    html = Markup("{}<mark>{}</mark>{}").format(
        visible(before), visible(text.sentence), visible(after)
    )
    return str(html).replace("\n", "<br>")
