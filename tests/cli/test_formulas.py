"""Formulas as plain text: every construct that the docstrings use, and what they do not."""

from __future__ import annotations

import pytest

from rankwise.cli.formulas import plain_formula, plain_text


@pytest.mark.parametrize(
    ("latex", "plain"),
    [
        (r"CG@k = \sum_{i \le k} g_i", "CG@k = Σ_(i ≤ k) g_i"),
        (r"\frac{1}{\sum_u |R_u|} \sum_u x", "1/(Σ_u |R_u|) · Σ_u x"),
        (r"\frac{a - 1}{b} - \frac{1}{|A \cap B|}", "(a - 1)/b - 1/|A ∩ B|"),
        (r"\frac{\frac{a}{b}}{\log_2(i + 1)}", "(a/b)/log_2(i + 1)"),
        (r"\sum_c p_c \ln \frac{p}{q} + \log_2 \frac{n}{N}", "Σ_c p_c ln (p/q) + log_2 (n/N)"),
        (r"\sqrt{\frac{1}{n} \sum (\hat r - \bar r)^2}", "√(1/n · Σ (r̂ - r̄)^2)"),
        (r"2^{rel + 1} - x^{-\gamma} + L_u^{|R_u|}", "2^(rel + 1) - x^(-γ) + L_u^|R_u|"),
        (r"|\{u : L_u^k \neq \emptyset\}|", "|{u : L_u^k ≠ ∅}|"),
        (r"\max\left(a,\, 0\right) \; c_{ui} m_{c,i}", "max(a, 0) c_ui m_(c,i)"),
        (r"a, \quad S = \mathrm{mean}_{i} \text{ in words}", "a,\nS = mean_i in words"),
        (r"\unheardof{x} \frac{1}{", "unheardofx 1/"),
    ],
)
def test_formulas(latex, plain):
    assert plain_formula(latex) == plain


def test_text():
    assert (
        plain_text(r"``x`` is `y`, :math:`r_i \le \hat r_j`, \|R_u\|") == "x is y, r_i ≤ r̂_j, |R_u|"
    )
