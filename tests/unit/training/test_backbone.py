"""Backbones: packaged weights see what is on a photograph, and a new head starts near zero and by its seed."""

from __future__ import annotations

from pathlib import Path

import pytest
import timm
import torch
from PIL import Image
from sklearn.datasets import load_sample_image
from timm.data import ImageNetInfo, create_transform, resolve_model_data_config
from torch import Tensor, nn

from fossil.runtime.files import write_tensors
from fossil.training.backbone import BackboneError, make_backbone
from fossil.training.weights import package_weights

PACKAGED = "tf_efficientnet_lite0"
SMALL = "test_byobnet"


@pytest.fixture(scope="module")
def packaged() -> dict[str, Tensor]:
    return package_weights(PACKAGED)


@pytest.fixture(scope="module")
def weights(packaged: dict[str, Tensor], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "weights.safetensors"
    write_tensors(path, packaged)
    return path


# --- Packaged weights -----------------------------------------------------------------------------------------------


def best_classes(tensors: dict[str, Tensor], photograph: str, *, count: int = 5) -> list[int]:
    """Classify one of scikit-learn's photographs, prepared as timm says for the model; the best classes first."""
    model = timm.create_model(PACKAGED, pretrained=False)
    model.load_state_dict(tensors)
    transform = create_transform(**resolve_model_data_config(model))
    with torch.inference_mode():
        logits = model.eval()(transform(Image.fromarray(load_sample_image(photograph)))[None])
    return logits[0].topk(count).indices.tolist()


# china.jpg is the tower of the Summer Palace in Beijing. flower.jpg is a dahlia: of the 1000 classes of ImageNet, daisy
# is the one other flower of the same family; the only other flower is an orchid (yellow lady's slipper).
SEEN = [("china.jpg", 698, "palace"), ("flower.jpg", 985, "daisy")]


@pytest.mark.parametrize(("photograph", "index", "name"), SEEN)
def test_packaged_weights_see_what_is_on_a_photograph(
    packaged: dict[str, Tensor], photograph: str, index: int, name: str
) -> None:
    assert ImageNetInfo().index_to_description(index) == name
    assert best_classes(packaged, photograph)[0] == index


@pytest.mark.parametrize(("photograph", "index", "name"), SEEN)
def test_packaged_weights_in_another_order_do_not(
    packaged: dict[str, Tensor], photograph: str, index: int, name: str
) -> None:
    by_shape: dict[object, list[str]] = {}
    for key, tensor in packaged.items():
        by_shape.setdefault((tensor.shape, key.rpartition(".")[2]), []).append(key)
    other = {}
    for keys in by_shape.values():
        for key, source in zip(keys, reversed(keys), strict=True):
            other[key] = packaged[source]
    assert index not in best_classes(other, photograph), name


def test_a_backbone_without_a_package_is_an_error_that_names_it_and_those_with_one() -> None:
    with pytest.raises(BackboneError, match=rf"'resnet18'.*{PACKAGED}"):
        package_weights("resnet18")


# --- Models ---------------------------------------------------------------------------------------------------------


def test_every_tensor_but_the_classifier_is_loaded(packaged: dict[str, Tensor], weights: Path) -> None:
    model, _ = make_backbone(PACKAGED, weights=weights, seed=1)
    state = model.state_dict()
    assert set(state) == set(packaged)
    head = {"classifier.weight", "classifier.bias"}
    assert [name for name in state if name not in head and not torch.equal(state[name], packaged[name])] == []
    assert state["classifier.weight"].shape == (1, 1280)
    assert state["classifier.bias"].shape == (1,)


@pytest.mark.parametrize("name", ["deit_tiny_distilled_patch16_224", "caformer_s18"])
def test_all_but_the_last_layer_of_each_classifier_is_loaded(tmp_path: Path, name: str) -> None:
    # The first has two classifiers; the classifier of the second has two layers, of which the first is pretrained.
    last = {
        "deit_tiny_distilled_patch16_224": {"head.weight", "head.bias", "head_dist.weight", "head_dist.bias"},
        "caformer_s18": {"head.fc.fc2.weight", "head.fc.fc2.bias"},
    }[name]
    pretrained = timm.create_model(name, pretrained=False, num_classes=10).state_dict()
    write_tensors(tmp_path / "weights.safetensors", pretrained)
    state = make_backbone(name, weights=tmp_path / "weights.safetensors", seed=1)[0].state_dict()
    assert set(state) == set(pretrained)
    assert {key for key in state if not torch.equal(state[key], pretrained[key])} == last


def test_a_backbone_comes_with_the_input_that_timm_says_for_it(weights: Path) -> None:
    _, inputs = make_backbone(PACKAGED, weights=weights, seed=1)
    # timm's weights of this model were trained on values from -1 to 1, unlike most, which use ImageNet's mean.
    assert (inputs.mean, inputs.std, inputs.interpolation) == ((0.5,) * 3, (0.5,) * 3, "bicubic")
    _, inputs = make_backbone(SMALL, weights=None, seed=1)
    assert (inputs.mean, inputs.std) == ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def test_the_same_seed_gives_the_same_head_on_the_same_weights_and_another_seed_another(weights: Path) -> None:
    first, again, other = (make_backbone(PACKAGED, weights=weights, seed=seed)[0].state_dict() for seed in (1, 1, 2))
    assert torch.equal(first["classifier.weight"], again["classifier.weight"])
    assert [name for name in first if not torch.equal(first[name], other[name])] == ["classifier.weight"]


def test_without_weights_the_whole_model_starts_by_its_seed() -> None:
    first, again, other = (make_backbone(SMALL, weights=None, seed=seed)[0].state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    convolutions = [name for name, tensor in first.items() if tensor.ndim == 4]
    assert convolutions
    assert not any(torch.equal(first[name], other[name]) for name in convolutions)


def test_the_state_of_the_random_numbers_before_does_not_matter() -> None:
    torch.manual_seed(5)
    first = make_backbone(SMALL, weights=None, seed=1)[0].state_dict()
    torch.rand(7)
    again = make_backbone(SMALL, weights=None, seed=1)[0].state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)


@pytest.mark.parametrize("name", [SMALL, PACKAGED, "resnet18", "pretrained"])
@pytest.mark.parametrize("training", [True, False])
def test_the_first_logits_are_near_zero(name: str, training: bool, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue("weights") if name == "pretrained" else None
    model = make_backbone(PACKAGED if path else name, weights=path, seed=1)[0].train(training)
    with torch.no_grad():
        logits = model(torch.randn(8, 3, 64, 64, generator=torch.Generator().manual_seed(0)))
    assert logits.shape == (8, 1)
    assert logits.abs().max() < 0.5


def test_only_the_head_is_started_anew() -> None:
    # The generator stands where timm's own start left it, so everything before the head is timm's.
    torch.manual_seed(3)
    expected = timm.create_model(SMALL, pretrained=False, num_classes=1)
    model, _ = make_backbone(SMALL, weights=None, seed=3)
    own = {id(parameter) for parameter in model.get_classifier().parameters()}
    assert isinstance(model.get_classifier(), nn.Linear)
    pairs = list(zip(model.parameters(), expected.parameters(), strict=True))
    assert [torch.equal(ours, theirs) for ours, theirs in pairs if id(ours) not in own] == [True] * (len(pairs) - 2)


# --- Errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["test_byobnett", "convnext_tiny.not_a_tag"])
def test_a_model_that_timm_does_not_have_is_an_error_that_names_model_and_key(name: str) -> None:
    with pytest.raises(BackboneError, match="images.training.backbone: .*" + name.replace(".", r"\.")):
        make_backbone(name, weights=None, seed=1)


def test_a_name_that_timm_does_not_have_is_an_error_that_names_similar_ones() -> None:
    with pytest.raises(BackboneError, match=r"similar names: convnext_tiny\.fb_in1k"):
        make_backbone("convnext_tny.fb_in1k", weights=None, seed=1)


def test_a_model_may_be_named_with_its_tag() -> None:
    assert make_backbone("test_byobnet.r160_in1k", weights=None, seed=1)[0].num_classes == 1


def test_weights_of_another_backbone_are_an_error_that_names_the_file_and_tensors(weights: Path) -> None:
    with pytest.raises(BackboneError, match=rf"^{weights}: .*missing \['stem.conv.weight'"):
        make_backbone(SMALL, weights=weights, seed=1)


@pytest.mark.parametrize(
    ("stem", "message"), [(None, r"missing \['conv_stem.weight'\]"), (torch.zeros(1), "conv_stem.weight")]
)
def test_weights_without_a_tensor_or_of_another_shape_are_an_error_that_names_file_and_tensor(
    stem: Tensor | None, message: str, tmp_path: Path, packaged: dict[str, Tensor]
) -> None:
    path = tmp_path / "weights.safetensors"
    others = {name: tensor for name, tensor in packaged.items() if name != "conv_stem.weight"}
    write_tensors(path, others if stem is None else others | {"conv_stem.weight": stem})
    with pytest.raises(BackboneError, match=f"(?s)^{path}: .*{message}"):
        make_backbone(PACKAGED, weights=path, seed=1)


@pytest.mark.parametrize("content", [b"this is no weights file", None])
def test_a_file_that_holds_no_tensors_or_is_missing_is_an_error_that_names_it(
    content: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / "weights.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises((BackboneError, FileNotFoundError), match=r"weights\.safetensors"):
        make_backbone(SMALL, weights=path, seed=1)
