"""Image and text towers with a shared embedding space: CLIP, SigLIP and similar models, BLIP-2.

Features have unit length. They are computed once for each distinct image and text. A BLIP-2 image
has several features, one for each query token; a similarity is the highest over them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.engines.model_files import find_model, named
from revise_captions.errors import UserError
from revise_captions.metrics import openai_clip
from revise_captions.metrics.protocol import ImageSource
from revise_captions.outside_text import encodable
from revise_captions.pretrained import load_pretrained, load_weights

if TYPE_CHECKING:
    import torch

_HINT = (
    "expected the folder or Hugging Face id of a CLIP, SigLIP or BLIP-2 retrieval checkpoint, or "
    "Long-CLIP's file (longclip-L.pt)"
)
_KEPT = 50_000  # features of texts, and of images
#: Trained with all texts padded to their full length.
_PADDED = ("siglip", "siglip2")


class Towers:
    """Both towers of a model, made by `load_towers`.

    Attributes:
        kind: `clip`, `siglip`, `blip-2`, …, as in the model's configuration.
        settings: What determines the features.
    """

    def __init__(self, model: Any, processor: Any, settings: Mapping[str, str], size: int) -> None:
        self.model, self.processor, self.settings = model.eval(), processor, settings
        self.batch_size = size
        self.kind = str(model.config.model_type)
        self.limit = text_limit(model, processor)
        self._texts: dict[str, torch.Tensor] = {}
        self._images: dict[str, torch.Tensor] = {}

    def left_out(self, text: str) -> int:
        """Number of the text's tokens that exceed the tower's positions and are not read."""
        if len(text) < self.limit - 2:  # a token has at least one character
            return 0
        ids = self.processor.tokenizer(encodable(text), truncation=False)["input_ids"]
        return max(0, len(ids) - self.limit)

    def forget(self) -> None:
        """Drops cached features: call it after changing the weights."""
        self._texts.clear()
        self._images.clear()

    def texts(self, texts: Sequence[str]) -> torch.Tensor:
        """Features of shape (texts, dimensions)."""
        import torch

        new = [text for text in dict.fromkeys(texts) if text not in self._texts]
        _make_room(self._texts)
        for start in range(0, len(new), self.batch_size):
            part = new[start : start + self.batch_size]
            with torch.inference_mode():
                self._texts.update(zip(part, self.text_features(part).cpu(), strict=True))
        return torch.stack([self._texts[text] for text in texts])

    def images(self, images: Sequence[ImageSource]) -> torch.Tensor:
        """Features of shape (images, vectors of an image, dimensions)."""
        import torch

        new = list({i.key: i for i in images if i.key not in self._images}.values())
        _make_room(self._images)
        for start in range(0, len(new), self.batch_size):
            part = new[start : start + self.batch_size]
            with torch.inference_mode():
                made = self.image_features([image.load() for image in part]).cpu()
            self._images.update(zip((image.key for image in part), made, strict=True))
        return torch.stack([self._images[image.key] for image in images])

    def text_features(self, texts: Sequence[str]) -> torch.Tensor:
        """What `texts` caches, with gradients if they are enabled."""
        import torch

        padding = "max_length" if self.kind in _PADDED else True
        inputs = self.processor.tokenizer(
            list(map(encodable, texts)),
            return_tensors="pt",
            padding=padding,
            truncation=True,
            max_length=self.limit,
        ).to(self.model.device)
        inputs.pop("token_type_ids", None)
        features = _blip2_text if self.kind == "blip-2" else type(self.model).get_text_features
        return torch.nn.functional.normalize(_vectors(features(self.model, **inputs)), dim=-1)

    def image_features(self, images: Sequence[Any]) -> torch.Tensor:
        """What `images` caches, with gradients if they are enabled."""
        import torch

        pixels = self.processor.image_processor(list(images), return_tensors="pt")
        pixels = {name: value.to(self.model.device) for name, value in pixels.items()}
        features = _blip2_image if self.kind == "blip-2" else type(self.model).get_image_features
        found = _vectors(features(self.model, **pixels))
        return torch.nn.functional.normalize(found if found.dim() == 3 else found[:, None], dim=-1)


def _vectors(found: Any) -> Any:
    """Features as float32; transformers returns a tensor, or an output that contains them."""
    return (found if hasattr(found, "float") else found.pooler_output).float()


def _blip2_text(model: Any, *, input_ids: Any, attention_mask: Any) -> Any:
    """As in `Blip2ForImageTextRetrieval.forward`, which can only compute both sides together."""
    states = model.qformer(
        query_embeds=model.embeddings(input_ids=input_ids),
        query_length=0,
        attention_mask=attention_mask,
        return_dict=True,
    ).last_hidden_state
    return model.text_projection(states[:, 0].to(model.text_projection.weight.dtype))


def _blip2_image(model: Any, *, pixel_values: Any) -> Any:
    """One feature for each query token, of shape (images, queries, dimensions)."""
    import torch

    seen = model.vision_model(pixel_values=pixel_values, return_dict=True)[0]
    states = model.qformer(
        query_embeds=model.query_tokens.expand(len(seen), -1, -1),
        encoder_hidden_states=seen,
        encoder_attention_mask=torch.ones(seen.shape[:2], dtype=torch.long, device=seen.device),
        return_dict=True,
    ).last_hidden_state
    return model.vision_projection(states.to(model.vision_projection.weight.dtype))


def _make_room(cache: dict[str, Any]) -> None:
    if len(cache) > _KEPT:
        cache.clear()


def text_limit(model: Any, processor: Any) -> int:
    """Most tokens that the text tower reads: the smaller of its and the tokenizer's limits."""
    config = model.config
    text = config.qformer_config if config.model_type == "blip-2" else config.text_config
    positions = int(getattr(text, "max_position_embeddings", 0) or 1 << 20)
    return min(positions, int(processor.tokenizer.model_max_length))


def load_towers(name: str, *, device: str = "auto", batch_size: int = 16) -> Towers:
    """Loads the towers of a checkpoint.

    Args:
        name: A folder or hub id, or a file in OpenAI CLIP's format (`longclip-L.pt`).
        device: `auto` is a GPU if there is one.
        batch_size: Images or texts in one forward pass.

    Raises:
        UserError: It cannot be loaded, or has no towers with a shared embedding space.
    """
    import transformers

    from revise_captions.engines.placement import device_and_dtype

    if not name:
        raise UserError("no model was named", hint=_HINT)
    place, _ = device_and_dtype(device, "float32")
    try:
        model, processor, identity = _loaded(name)
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UserError(f"no two-tower model at {name}: {reason}", hint=_HINT) from error
    settings = {
        "towers": identity,
        "kind": str(model.config.model_type),
        "transformers": transformers.__version__,
    }
    return Towers(model.to(place), processor, settings, batch_size)


def _loaded(name: str) -> tuple[Any, Any, str]:
    """Model, processor, `name@digest`."""
    import transformers

    path = Path(name).expanduser()
    if path.suffix == openai_clip.SUFFIX and path.is_file():
        return openai_clip.load_openai_clip(path)
    folder = find_model(name, "the metric's model")
    config = load_pretrained(transformers.AutoConfig, folder, name=name)
    blip2 = config.model_type == "blip-2"
    kind: Any = transformers.Blip2ForImageTextRetrieval if blip2 else transformers.AutoModel
    model, loading = load_weights(kind, folder, name=name, output_loading_info=True)
    processor = load_pretrained(transformers.AutoProcessor, folder, name=name)
    both = hasattr(model, "get_image_features") and hasattr(model, "get_text_features")
    if not ((both or blip2) and hasattr(processor, "tokenizer")):
        raise UserError(f"{name} is a {config.model_type} model, not a two-tower model", hint=_HINT)
    if lacking := sorted(loading["missing_keys"]):  # such as those of a generating BLIP-2
        raise UserError(
            f"{name} lacks weights of {kind.__name__}: {', '.join(lacking[:3])}, …", hint=_HINT
        )
    return model, processor, named(name, folder)
