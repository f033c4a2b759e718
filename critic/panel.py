"""Several critics as one: the image determines which of them judges its caption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from PIL.Image import Image

from revise_captions.critic.by_image import ByImage
from revise_captions.critic.protocol import (
    AcceptsImages,
    Chosen,
    Critic,
    ExplainRequest,
    JudgeRequest,
    JudgesParts,
    accepted,
    gate_of,
    unwrapped,
)
from revise_captions.records import Rationale, Unscored, Verdict
from revise_captions.runs.window_images import prepare
from revise_captions.signature import of_expert

#: The signature's key for the experts, which are listed in the order their gates are asked.
EXPERTS = "experts"


class PanelCritic:
    """Critics by name, asked in order; each image goes to the first that takes it.

    An image that no expert takes is outside every domain. If an expert takes an image but cannot
    judge it, the image is unscored for that expert's reason. Experts keep their own thresholds and
    calibrations.

    An expert on parts of sentences (`JudgesParts`) also sees every image. What it refutes is
    nonfactual, whichever expert took the image; `Verdict.by` names it if it alone objects. Where
    the image's expert leaves a sentence unscored, that expert's reason stands. Everything else is
    decided by the image's expert.

    Args:
        experts: At least one; one without a gate (`AcceptsImages`) takes every image.

    Attributes:
        threshold: The first expert's; `chosen` gives the one that applies to an image.
    """

    def __init__(self, experts: Mapping[str, Critic]) -> None:
        self.experts = dict(experts)
        self._of_parts = {k: one for k, one in experts.items() if isinstance(one, JudgesParts)}
        self._of_images = {k: one for k, one in experts.items() if k not in self._of_parts}
        first = next(iter((self._of_images or self.experts).values()))
        self.threshold = first.threshold
        self.settings: Mapping[str, str] = {
            "critic": "+".join(one.settings["critic"] for one in self.experts.values()),
            EXPERTS: ",".join(self.experts),
            **{
                f"{name}.{key}": value
                for name, one in self.experts.items()
                for key, value in {**one.settings, "threshold": f"{one.threshold:.4f}"}.items()
            },
        }
        #: The name of the expert that takes an image, or why none judges it.
        self._routes: ByImage[str | Unscored] = ByImage()

    @property
    def gate(self) -> object | None:
        """The first expert's gate if every expert has one, so that no expert may take an image."""
        experts = list(self._of_images.values())
        selective = bool(experts) and all(
            isinstance(unwrapped(one), AcceptsImages) for one in experts
        )
        return gate_of(experts[0]) if selective else None

    def prepare(self, image: Image) -> None:
        """Hands the image to the first expert; whether another will take it is not known yet."""
        prepare(next(iter(self._of_images.values()), None), image)

    def chosen(self, images: Sequence[Image]) -> list[Chosen]:
        """Who judges each image; the first expert's threshold applies where none takes it."""
        routes = self._routes_of(images)
        return [
            Chosen("", self.threshold)
            if isinstance(route, Unscored)
            else Chosen(route, self.experts[route].threshold)
            for route in routes
        ]

    def judge(self, requests: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        """One verdict per text asked about, from the expert that takes the image, or from one that
        refutes a part of the text."""
        routes = self._routes_of([request.image for request in requests])
        verdicts: list[list[Verdict]] = [
            [Verdict(None, route)] * len(request.asked) if isinstance(route, Unscored) else []
            for request, route in zip(requests, routes, strict=True)
        ]
        for name, expert in self._of_images.items():
            mine = [k for k, route in enumerate(routes) if route == name]
            answers = expert.judge([requests[k] for k in mine]) if mine else []
            for k, answer in zip(mine, answers, strict=True):
                verdicts[k] = answer
        limits = [one.threshold for one in self.chosen([request.image for request in requests])]
        for name, expert in self._of_parts.items():
            for k, answer in enumerate(expert.judge(requests)):
                verdicts[k] = [
                    _with_part(own, part, limits[k], expert.threshold, name)
                    for own, part in zip(verdicts[k], answer, strict=True)
                ]
        return verdicts

    def explain(self, requests: Sequence[ExplainRequest]) -> list[Rationale]:
        """A rationale per request: from the expert in `Verdict.by`, else from the one that takes
        the image together with those that refute a part of the sentence."""
        routes = self._routes_of([request.image for request in requests])
        rationales = [Rationale("")] * len(requests)
        for name, expert in self._of_images.items():
            mine = [k for k, route in enumerate(routes) if route == name and not requests[k].by]
            answers = expert.explain([requests[k] for k in mine]) if mine else []
            for k, answer in zip(mine, answers, strict=True):
                rationales[k] = answer
        for name, expert in self._of_parts.items():
            mine = [k for k, request in enumerate(requests) if request.by in ("", name)]
            answers = expert.explain([requests[k] for k in mine]) if mine else []
            for k, answer in zip(mine, answers, strict=True):
                rationales[k] = _joined(answer, rationales[k])
        return rationales

    def _routes_of(self, images: Sequence[Image]) -> list[str | Unscored]:
        """The expert that each image goes to. Gates are asked about all new images at once."""
        new = {id(image): image for image in images if self._routes.get(image) is None}
        left = list(new.values())
        for name, expert in self._of_images.items():
            answers = accepted(expert, left) if left else []
            for image, answer in zip(left, answers, strict=True):
                if answer.mine:
                    self._routes.put(image, answer.unscored or name)
            left = [image for image, answer in zip(left, answers, strict=True) if not answer.mine]
        for image in left:
            self._routes.put(image, Unscored.OUTSIDE_DOMAIN)
        found = [self._routes.get(image) for image in images]
        assert all(found)
        return [route for route in found if route is not None]


def first_of(critic: Critic) -> Critic:
    """A critic with weights of its own: for a panel, the first expert."""
    return next(iter(critic.experts.values())) if isinstance(critic, PanelCritic) else critic


def experts_of(settings: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The settings of each expert named in a signature; a single critic's are under ""."""
    names = settings[EXPERTS].split(",") if EXPERTS in settings else [""]
    return {name: of_expert(settings, name) for name in names}


def _with_part(own: Verdict, part: Verdict, limit: float, part_limit: float, name: str) -> Verdict:
    """The verdict on a sentence of which an expert judged a part.

    Args:
        own: The verdict of the image's expert.
        part: The verdict of the part's expert, `name`.
        limit: The image's threshold; the part's P(factual) is rescaled to it from `part_limit`.
    """
    if part.p_factual is None or part.p_factual >= part_limit:
        silent = own.p_factual is not None or part.unscored in (None, Unscored.NO_QUOTE)
        return own if silent else replace(part, by=name)
    scaled = round(part.p_factual * limit / part_limit, 4)
    if own.p_factual is not None and own.p_factual < limit:
        return replace(own, p_factual=min(own.p_factual, scaled))
    return Verdict(scaled, assessable=own.assessable, by=name)


def _joined(part: Rationale, own: Rationale) -> Rationale:
    """Both rationales as one; where fixes overlap, the part's is kept."""
    if not part.text or not own.text:
        return part if part.text else own
    spans = [fix.span for fix in part.fixes]
    apart = [
        fix
        for fix in own.fixes
        if not any(fix.span.start < end and start < fix.span.end for start, end in spans)
    ]
    return Rationale(f"{part.text} {own.text}", (*part.fixes, *apart))
