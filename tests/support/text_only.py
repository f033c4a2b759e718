"""Whether the words alone give wrong sentences away: a text-only judge of picture-book captions.

Logistic regression on the words and word pairs of the sentence and the words of its context; it
sees no picture, so a ROC-AUC near 0.5 means that only the picture can tell true from false.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from revise_captions.picturebook.language.auxiliary_sentences import auxiliary_sentences
from revise_captions.picturebook.language.captions import caption
from revise_captions.picturebook.oracle.truth import Truth
from revise_captions.picturebook.world.sample import sample_scene

#: (context, sentence, whether it is true)
Row = tuple[str, str, bool]


def rows_of(number: int) -> list[Row]:
    """The assessable sentences of one scene's caption, about half of them wrong."""
    rng = random.Random(number)
    written = caption(
        sample_scene(number), rng, error_rate=0.45, sentences=rng.choice((4, 6, 8, 10))
    )
    return [
        (written.text[: s.span.start], s.span.of(written.text), s.truth is Truth.TRUE)
        for s in written.sentences
        if s.assessable
    ]


def auxiliary_rows_of(number: int) -> list[Row]:
    """One scene's auxiliary sentences, and the true versions of most wrong ones, as in training."""
    rng = random.Random(number)
    rows: list[Row] = []
    for one in auxiliary_sentences(sample_scene(number), rng, 8):
        rows.append(("none", one.text, one.factual))
        if one.rewrite and rng.random() < 0.7:
            rows.append(("none", one.rewrite, True))
    return rows


def text_only_auc(
    scenes: int, rows: Callable[[int], list[Row]] = rows_of
) -> tuple[float, float, list[tuple[str, float]]]:
    """(AUC of sentence and context, AUC of the sentence alone, the most telling words).

    Trained on the first 70 % of the scenes, tested on the rest. A telling word comes with the
    share of its sentences that are true.
    """
    import numpy as np
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    made = [rows(number) for number in range(scenes)]
    cut = int(scenes * 0.7)
    train = [row for rows in made[:cut] for row in rows]
    test = [row for rows in made[cut:] for row in rows]
    pairs = CountVectorizer(ngram_range=(1, 2), binary=True, min_df=4, token_pattern=r"[A-Za-z]+")
    single = CountVectorizer(binary=True, min_df=4, token_pattern=r"[A-Za-z]+")
    sentence = pairs.fit_transform([row[1] for row in train])
    context = single.fit_transform([row[0] for row in train])
    truth = np.array([row[2] for row in train])
    seen = pairs.transform([row[1] for row in test])
    seen_context = single.transform([row[0] for row in test])
    expected = np.array([row[2] for row in test])
    aucs = []
    for known, asked in (
        (hstack([sentence, context]).tocsr(), hstack([seen, seen_context]).tocsr()),
        (sentence, seen),
    ):
        model = LogisticRegression(C=0.03, max_iter=300).fit(known, truth)
        aucs.append(float(roc_auc_score(expected, model.predict_proba(asked)[:, 1])))
    names, counts = pairs.get_feature_names_out(), np.asarray(sentence.sum(axis=0)).ravel()
    order = np.argsort(-np.abs(model.coef_[0]) * np.sqrt(counts))[:20]
    columns = sentence.tocsc()
    telling = [(str(names[i]), float(truth[columns[:, i].indices].mean())) for i in order]
    return aucs[0], aucs[1], telling
