// Order of search results: pages that are read come before pages that are looked up.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  lookedUp:
    /^(api\/|architecture|benchmarks|changelog|command_line|config_keys|contributing|errors|libraries|mutants|roads)/,
  score: ([page, title, anchor, description, score, file, kind]) =>
    score - (kind !== "object" && Scorer.lookedUp.test(page) ? 4 : 0),
};
