"""The studies: their sets, how they are divided, and who competes."""

from __future__ import annotations

from dataclasses import dataclass

from papers.side_information.bounds import LogDetMachine
from papers.side_information.contestant import Contestant
from papers.side_information.embedded import Embedded
from papers.side_information.kernels import (
    Eigenmaps,
    KernelFisher,
    KernelPrincipalComponents,
)
from papers.side_information.learned import GaussianMachine
from papers.side_information.linear import (
    AllFeatures,
    Discriminants,
    NeighbourhoodComponents,
    PrincipalComponents,
)
from papers.side_information.logdet import LargeSCGLogDetMachine, SCGLogDetMachine
from papers.side_information.measuring import Entry
from papers.side_information.protocol import SideProtocol
from papers.side_information.spectral import OrderSpectralMachine

__all__ = [
    "EMBEDDING",
    "MAIN",
    "STUDIES",
    "TABLE_3",
    "TABLE_4",
    "TABLE_5",
    "Held",
    "SideStudy",
]


@dataclass(frozen=True)
class SideStudy:
    """A study.

    Attributes
    ----------
    name, title : str
        On the command line and on the page.
    divided, note : str
        How the points are divided, and what else the reader of the page should know.
    protocol : SideProtocol
    repeats : int
        Divisions, unless the command line says otherwise.
    sets : tuple of str
    entries : tuple of Entry
    """

    name: str
    title: str
    divided: str
    note: str
    protocol: SideProtocol
    repeats: int
    sets: tuple[str, ...]
    entries: tuple[Entry, ...]

    @property
    def contestants(self) -> tuple[Contestant, ...]:
        """The contestants, in the order of the page."""
        return tuple(each.contestant for each in self.entries)


@dataclass(frozen=True)
class Held:
    """What a document says was held fixed."""

    protocol: SideProtocol
    contestants: tuple[Contestant, ...]


SMALL = ("Wine", "Iris", "Sonar", "Glass", "Heart", "Liver", "Ionosphere", "Breast", "Balance")

TABLE_3 = SideStudy(
    "scg-table-3",
    "SCG, Table 3: accuracy and time on small sets",
    "70 % labelled, 30 % to be classified, whose features are learned from as well",
    "Protein is not at hand.",
    SideProtocol(unlabelled=0.3, test=0.0),
    20,
    SMALL,
    (
        Entry(GaussianMachine(), SMALL),
        Entry(OrderSpectralMachine(), SMALL),
        Entry(LogDetMachine(), SMALL),
        Entry(OrderSpectralMachine("scg", drop_null=True, name="scg-osk", title="SCG-OSK"), SMALL),
        Entry(SCGLogDetMachine(), SMALL),
        Entry(
            OrderSpectralMachine(
                drop_null=True, name="osk-default", title="OSK without the constant"
            ),
            SMALL,
        ),
        Entry(
            OrderSpectralMachine("scg", name="scg-osk-published", title="SCG-OSK as published"),
            SMALL,
        ),
        Entry(
            SCGLogDetMachine(
                graph="labeled", name="scg-ldk-labelled", title="SCG-LDK, labelled graph"
            ),
            SMALL,
        ),
    ),
)

TABLE_4 = SideStudy(
    "scg-table-4",
    "SCG, Table 4: SCG-LDK on points that come later",
    "40 % labelled, 30 % unlabelled but learned from, 30 % that come later",
    "Protein is not at hand.",
    SideProtocol(unlabelled=0.3, test=0.3),
    20,
    SMALL,
    (Entry(SCGLogDetMachine(), SMALL),),
)

LARGE = tuple(f"Adult-a{k}a" for k in range(1, 7))

FEWER = (("Adult-a5a", 5), ("Adult-a6a", 3))
"""Repeats of the largest sets where every point is in the graph."""

TABLE_5 = SideStudy(
    "scg-table-5",
    "SCG, Table 5: accuracy and time on Adult",
    "200 labels of a1a, 400 of a2a, and so on to 1200 of a6a; all other points are unlabelled, "
    "learned from, and classified",
    "From 75 to 76 % of the points are of one class: the paper's Gaussian machine, SCG-OSK and "
    "SimpleNPK stay below what a constant prediction gets right. The sets are LIBSVM's, of 123 "
    "binary features.",
    SideProtocol(unlabelled=0.0, test=0.0),
    10,
    LARGE,
    (
        Entry(GaussianMachine(), LARGE),
        Entry(
            OrderSpectralMachine(
                "scg", drop_null=True, n_neighbors=20, name="scg-osk", title="SCG-OSK"
            ),
            LARGE,
        ),
        Entry(LargeSCGLogDetMachine(), LARGE, FEWER),
        Entry(
            SCGLogDetMachine(
                "labeled", joint=False, name="scg-ldk-labelled", title="SCG-LDK, labelled graph"
            ),
            LARGE,
        ),
    ),
)

DIGITS = ("digits", "usps")

EMBEDDING = SideStudy(
    "scg-embedding",
    "SCG-LDK: held-out points in few dimensions",
    "one half to learn from, with all labels, the other half held out",
    "",
    SideProtocol(unlabelled=0.0, test=0.5),
    5,
    DIGITS,
    (
        Entry(Embedded(), DIGITS),
        Entry(Embedded("gaussian", "scg-ldk-gaussian", "KernelEmbedding, Gaussian"), DIGITS),
        Entry(AllFeatures(), DIGITS),
        Entry(PrincipalComponents(), DIGITS),
        Entry(KernelPrincipalComponents(), DIGITS),
        Entry(Discriminants(), DIGITS),
        Entry(NeighbourhoodComponents(), DIGITS),
        Entry(KernelFisher(), DIGITS),
        Entry(Eigenmaps(), DIGITS),
    ),
)

MAIN = ("gaussian", "osk", "ldk", "scg-osk", "scg-ldk")
"""The contestants that are ranked: those that stand beside a column of the paper."""

STUDIES = {study.name: study for study in (TABLE_3, TABLE_4, TABLE_5, EMBEDDING)}
"""The studies by name."""
