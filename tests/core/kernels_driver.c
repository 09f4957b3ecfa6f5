/* Runs every kernel on random cases beside a loop too plain to be wrong. Compiled by
   test_kernels.py with the sanitizers of addresses and of undefined behaviour, which see what a
   comparison of results cannot: a read one element too far, a shift too wide. */

#include "../../src/rankwise/core/kernels.c"

#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 1;

static int64_t below(int64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

static void check(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "wrong: %s\n", what);
        exit(1);
    }
}

static int64_t *numbers(int64_t n) { return malloc((size_t)(n ? n : 1) * sizeof(int64_t)); }

static void lists_and_truth(int64_t catalogue, int64_t scale) {
    int64_t lists = below(20), n = 0, m = 0, starts[21] = {0}, edges[21] = {0}, groups[20];
    for (int64_t at = 0; at < lists; at++) {
        starts[at + 1] = n += below(12);
        edges[at + 1] = m += below(5);
        groups[at] = below(4) ? lists - 1 - at : -1;
    }
    int64_t *items = numbers(n), *judged = numbers(m), *rows = numbers(m), *found = numbers(m);
    int64_t *owners = numbers(m);
    int64_t *repeated = numbers(n), n_repeated, again = 0, matches = 0, in_order;
    int32_t *narrow = malloc((size_t)(n ? n : 1) * sizeof(int32_t));
    for (int64_t at = 0; at < n; at++) {
        items[at] = below(catalogue) * scale;
        narrow[at] = (int32_t)items[at];
    }
    for (int64_t at = 0; at < m; at++)
        judged[at] = at * scale; /* none twice in a list */
    for (int bits = 5; bits < 8; bits++) {
        int64_t *table = numbers((int64_t)1 << bits);
        for (int64_t at = 0; at < (int64_t)1 << bits; at++)
            table[at] = -1;
        matches = rw_match_int64(items, starts, lists, judged, edges, groups, m, table, bits,
                                 rows, found, owners, repeated, &n_repeated, &in_order);
        again = 0;
        for (int64_t list = 0; list < lists; list++)
            for (int64_t row = starts[list]; row < starts[list + 1]; row++)
                for (int64_t next = row + 1; next < starts[list + 1]; next++)
                    if (items[row] == items[next]) {
                        again++;
                        break;
                    }
        check(n_repeated == again, "repeated rows");
        for (int64_t at = 0; at < matches; at++)
            check(items[rows[at]] == judged[found[at]] && starts[owners[at]] <= rows[at] &&
                      rows[at] < starts[owners[at] + 1],
                  "a match");
        for (int64_t at = 1; at < matches; at++)
            check(rows[at] > rows[at - 1], "the order of matches");
        int64_t expected = 0;
        for (int64_t list = 0; list < lists; list++)
            for (int64_t at = groups[list] < 0 ? m : edges[groups[list]];
                 at < (groups[list] < 0 ? m : edges[groups[list] + 1]); at++)
                for (int64_t row = starts[list]; row < starts[list + 1]; row++)
                    if (items[row] == judged[at]) {
                        expected++;
                        break;
                    }
        check(matches == expected, "the number of matches");
        if (scale == 1) {
            for (int64_t at = 0; at < (int64_t)1 << bits; at++)
                table[at] = -1;
            check(rw_match_int32(narrow, starts, lists, judged, edges, groups, m, table, bits,
                                 rows, found, owners, repeated, &n_repeated, &in_order) == matches,
                  "matches of 32 bits");
        }
        free(table);
    }
    free(items), free(judged), free(rows), free(found), free(owners), free(repeated),
        free(narrow);
}

static void runs_and_ranks(void) {
    int64_t n = 1 + below(80), *ids = numbers(n), *rows = numbers(n), expected = 0;
    for (int64_t at = 0; at < n; at++)
        ids[at] = at && below(4) ? ids[at - 1] : below(1000) - 500;
    for (int64_t at = 1; at < n; at++)
        expected += ids[at] != ids[at - 1];
    check(rw_changes_int64(ids, 1, n, rows) == expected, "changes");
    int64_t starts[3] = {0, n / 2, n};
    for (int64_t at = 0; at < n; at++)
        ids[at] = at < n / 2 ? at + 1 : at - n / 2 + 1;
    check(rw_counts_up(ids, starts, 0, 2, 1), "ranks that count up");
    check(!rw_counts_up(ids, starts, 0, 2, 0), "ranks that do not count from 0");
    ids[below(n)] += 1;
    check(!rw_counts_up(ids, starts, 0, 2, 1), "ranks that do not");
    free(ids), free(rows);
}

static void sums(void) {
    int64_t users = 1 + below(6), n = below(40), cuts[2] = {2, 5};
    int64_t *user = numbers(n), *rank = numbers(n);
    double *values = malloc((size_t)(n + 1) * sizeof(double)), out[12] = {0}, expected[12] = {0};
    for (int64_t at = 0; at < n; at++) {
        user[at] = at * users / n;
        rank[at] = at && user[at] == user[at - 1] ? rank[at - 1] + below(3) : 1 + below(3);
        values[at] = (double)below(1000) / 7;
        for (int cut = 0; cut < 2; cut++)
            expected[cut * users + user[at]] += rank[at] <= cuts[cut] ? values[at] : 0.0;
    }
    int64_t ends[12] = {0};
    double *running = malloc((size_t)(n + 1) * sizeof(double));
    rw_ends(user, rank, n, cuts, 2, users, ends);
    rw_sums(user, values, n, ends, 2 * users, running, out);
    rw_positions(user, n, running);
    for (int64_t at = 0, position = 0; at < n; at++) {
        position = at && user[at] == user[at - 1] ? position + 1 : 1;
        check(running[at] == (double)position, "positions");
    }
    free(running);
    for (int64_t at = 0; at < 2 * users; at++)
        check(out[at] == expected[at], "sums up to a rank");
    int64_t whole = 0;
    for (int64_t at = 0; at < n; at++) {
        values[at] = (double)(below(1 << 20) - (1 << 19));
        whole += (int64_t)values[at];
    }
    double parts[64], total = 0.0;
    int64_t written = rw_exact_parts(values, n, parts);
    for (int64_t at = 0; at < written; at++)
        total += parts[at];
    check(written >= 0 && total == (double)whole, "an exact sum");
    values[n] = INFINITY;
    check(rw_exact_parts(values, n + 1, parts) == -1, "infinity");
    values[n] = NAN;
    check(rw_exact_parts(values, n + 1, parts) == -1, "NaN");
    values[n] = 1e305;
    check(rw_exact_parts(values, n + 1, parts) == -1, "a value without room above it");
    values[n] = 5e-324;
    check(rw_exact_parts(values, n + 1, parts) > 0, "the smallest float");
    free(user), free(rank), free(values);
}

static void columns_of_text(void) {
    static const char *fields[] = {"0", "17", "-3", "007", "+1", "", "x", "-", "-0", "1234567890123456789"};
    char text[400];
    int64_t n = 0, whole = 3, odd = 0;
    for (int64_t line = below(8) + 1; line > 0; line--)
        for (int column = 0; column < 2; column++) {
            const int64_t chosen = below(3) ? below(3) : below(10);
            n += sprintf(text + n, "%s%s", fields[chosen], column ? "\n" : ",");
            odd |= chosen == 3 || chosen == 4 || chosen == 8;
            if (chosen > 2)
                whole &= ~((int64_t)1 << column);
        }
    n -= below(2); /* the last line may have no end */
    uint8_t *exact = malloc((size_t)n); /* so that a read behind the end is seen */
    for (int64_t at = 0; at < n; at++)
        exact[at] = (uint8_t)text[at];
    check((int64_t)rw_whole_columns(exact, n, ',', 2, 3) == whole, "whole columns");
    check(rw_whole_columns(exact, n, ',', 3, 7) == 0, "lines of another width");
    const int64_t middle = below(n + 1);
    check((rw_odd_text(exact, n, 0, middle, ',') | rw_odd_text(exact, n, middle, n, ',')) == odd,
          "an odd text");
    free(exact);
}

static void scores(void) {
    const int64_t rows = 1 + below(4), width = 1 + below(9), stride = width + below(3);
    int64_t starts[5] = {0}, lengths[4] = {0}, above[40] = {0}, equal[40] = {0};
    float *values = malloc((size_t)((rows - 1) * stride + width) * sizeof(float)), judged[40];
    for (int64_t at = 0; at < (rows - 1) * stride + width; at++)
        values[at] = below(9) ? (float)below(5) : -INFINITY;
    for (int64_t row = 0; row < rows; row++) {
        starts[row + 1] = starts[row] + below(10);
        for (int64_t at = starts[row]; at < starts[row + 1]; at++)
            judged[at] = (float)below(5);
    }
    check(rw_count_float32(values, stride, width, starts, rows, judged, lengths, above, equal) == 1,
          "scores that are numbers");
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t column = 0; column < width; column++)
            lengths[row] -= values[row * stride + column] > -INFINITY;
        check(lengths[row] == 0, "scores of a row");
        for (int64_t at = starts[row]; at < starts[row + 1]; at++) {
            int64_t over = 0, same = 0;
            for (int64_t column = 0; column < width; column++) {
                over += values[row * stride + column] > judged[at];
                same += values[row * stride + column] == judged[at];
            }
            check(above[at] == over && equal[at] == same, "scores above and equal");
        }
    }
    values[below(width)] = below(2) ? NAN : INFINITY;
    check(rw_count_float32(values, stride, width, starts, rows, judged, lengths, above, equal) == 0,
          "judged scores beside one that is no number");
    free(values);
}

static void largest_scores(void) {
    const int64_t rows = 1 + below(4), width = 1 + below(40), stride = width + below(3);
    const int64_t groups = 1 + below(width), k = 1 + below(12), room = (rows + 1) * width;
    double *values = malloc((size_t)((rows - 1) * stride + width) * sizeof(double));
    double *best = malloc((size_t)room * sizeof(double));
    int32_t *items = malloc((size_t)room * sizeof(int32_t));
    int64_t *keys = numbers(width), lengths[4], first = 0;
    for (int64_t at = 0; at < (rows - 1) * stride + width; at++)
        values[at] = below(9) ? (double)(below(30) - 15) * -0.5 : -INFINITY;
    const int64_t found =
        rw_top_float64(values, stride, width, rows, groups, k, room, keys, items, best, lengths);
    for (int64_t row = 0; row < rows; first += lengths[row++]) {
        const double *scores = values + row * stride;
        int64_t kept = 0;
        for (int64_t item = 0; item < width; item++) {
            int64_t above = 0, here = 0;
            for (int64_t other = 0; other < width; other++)
                above += scores[other] > scores[item];
            for (int64_t at = first; at < first + lengths[row]; at++)
                here += items[at] == item && best[at] == scores[item];
            const int among = above < k && scores[item] > -INFINITY;
            check(here == among, "an item of the largest scores");
            kept += among;
        }
        check(kept == lengths[row], "the number of largest scores");
    }
    check(found == first, "the number of all largest scores");
    check(rw_top_float64(values, stride, width, rows, groups, k, width - 1, keys, items, best,
                         lengths) == -1, "largest scores without room");
    values[below(width)] = below(2) ? NAN : INFINITY;
    check(rw_top_float64(values, stride, width, rows, groups, k, room, keys, items, best,
                         lengths) == -1, "a score that is no number");
    free(values), free(best), free(items), free(keys);
}

static void rows_of_users(void) {
    const int64_t users = 1 + below(5);
    int64_t n = 0, starts[6] = {0}, counts[6] = {0}, next[6] = {0};
    for (int64_t user = 0; user < users; user++)
        starts[user + 1] = n += below(6);
    int64_t *codes = numbers(n), *rank = numbers(n), *items = numbers(n);
    int32_t *out = malloc((size_t)(n ? n : 1) * sizeof(int32_t));
    double *scores = malloc((size_t)(n ? n : 1) * sizeof(double));
    double *moved = malloc((size_t)(n ? n : 1) * sizeof(double));
    for (int64_t user = 0; user < users; user++)
        for (int64_t at = starts[user]; at < starts[user + 1]; at++) {
            codes[at] = user;
            rank[at] = at - starts[user] + 1;
        }
    for (int64_t at = n - 1; at > 0; at--) { /* in any order */
        const int64_t other = below(at + 1), code = codes[at], place = rank[at];
        codes[at] = codes[other], rank[at] = rank[other];
        codes[other] = code, rank[other] = place;
    }
    for (int64_t at = 0; at < n; at++) {
        items[at] = starts[codes[at]] + rank[at];
        scores[at] = (double)at;
    }
    rw_count(codes, 0, n / 2, counts);
    rw_count(codes, n / 2, n, counts);
    for (int64_t user = 0; user < users; user++) {
        check(counts[user] == starts[user + 1] - starts[user], "counts of users");
        next[user] = starts[user];
    }
    int64_t *order = numbers(n);
    rw_bucket(codes, n, next, order);
    for (int64_t user = 0; user < users; user++) {
        check(next[user] == starts[user + 1], "the end of the rows of a user");
        next[user] = starts[user];
        for (int64_t at = starts[user]; at < starts[user + 1]; at++)
            check(codes[order[at]] == user && (at == starts[user] || order[at] > order[at - 1]),
                  "row numbers of a user in their order");
    }
    check(rw_place(codes, rank, items, 0, n, starts, 1, out), "ranks of their lists");
    for (int64_t at = 0; at < n; at++)
        check(out[at] == at + 1, "rows placed by rank");
    rw_scatter(codes, items, scores, 0, n, next, out, moved);
    for (int64_t user = 0; user < users; user++)
        for (int64_t at = starts[user] + 1; at < starts[user + 1]; at++)
            check(moved[at] > moved[at - 1], "rows of a user in their order");
    if (n) {
        rank[below(n)] = below(2) ? 0 : INT64_MAX;
        check(!rw_place(codes, rank, items, 0, n, starts, 1, out), "a rank of no list");
    }
    free(codes), free(rank), free(items), free(out), free(scores), free(moved), free(order);
}

static void ranks_of_rows(void) {
    const int64_t lists = 1 + below(4);
    int64_t n = 0, starts[5] = {0}, rank;
    for (int64_t list = 0; list < lists; list++)
        starts[list + 1] = n += 1 + below(6);
    double *scores = malloc((size_t)n * sizeof(double));
    int64_t *numbered = numbers(n);
    for (int64_t at = 0; at < n; at++) {
        scores[at] = (double)below(3);
        numbered[at] = at * 7 % 31 - 9;
    }
    for (int64_t list = 0; list < lists; list++)
        for (int64_t at = starts[list]; at < starts[list + 1]; at++) {
            int64_t expected = 1;
            for (int64_t row = starts[list]; row < starts[list + 1]; row++)
                expected += scores[row] > scores[at] ||
                            (scores[row] == scores[at] && numbered[row] < numbered[at]);
            rw_ranks(scores, numbered, starts, &at, &list, 1, &rank);
            check(rank == expected, "the rank of a row");
        }
    free(scores), free(numbered);
}

static void pairs_above(void) {
    enum { K = 3, LONGEST = 40 };
    const int64_t n = below(LONGEST);
    uint64_t keys[LONGEST], sorted[LONGEST], room[LONGEST];
    for (int64_t at = 0; at < n; at++) {
        const uint64_t some = below(3) ? (uint64_t)below(9) * 2 : (uint64_t)below(1 << 30) << 20;
        const uint64_t digits = below(6) ? some : UINT64_C(1) << (63 - RW_MARK); /* that of 0 */
        keys[at] = digits << RW_MARK | (uint64_t)below(K);
    }
    memcpy(sorted, keys, sizeof keys);
    rw_sort_keys(sorted, n, room);
    const int64_t zeros[K] = {below(5), 1, below(3)};
    int64_t known[2 * K] = {0}, above[K * K] = {0}, expected[K * K] = {0};
    for (int64_t at = 1; at < n; at++)
        check(sorted[at - 1] >> RW_MARK <= sorted[at] >> RW_MARK, "the order of keys");
    rw_above(sorted, n, zeros, K, known, above);
    for (int64_t x = 0; x < n; x++)
        for (int64_t y = 0; y < n; y++) {
            const uint64_t here = keys[x] >> RW_MARK, there = keys[y] >> RW_MARK;
            const int64_t cell = (int64_t)(keys[x] % (1 << RW_MARK)) * K;
            const int64_t times = rw_times(keys[x], zeros) * rw_times(keys[y], zeros);
            expected[cell + (int64_t)(keys[y] % (1 << RW_MARK))] += times * (there < here ? 2 : there == here);
        }
    check(!memcmp(above, expected, sizeof above), "values above");
}

/* Of pairs in both orders, each in as many bins as there are distinct differences. */
/* Rows of numbers of both signs, of one sign, and of few that count: their saddle points, sums and weights. */
static void saddles_of_rows(void) {
    enum { WIDTH = 2 * RW_LANES, PAIRS = 3 };
    double x[PAIRS * WIDTH], counts[PAIRS * WIDTH], s[PAIRS] = {0.1, 0.1, 0.1}, found[4 * PAIRS], offsets[PAIRS];
    for (int64_t at = 0; at < PAIRS * WIDTH; at++) {
        const int64_t pair = at / WIDTH, place = at % WIDTH;
        x[at] = pair == 1 ? -0.5 : 0.9 * sin((double)(7 * at));
        counts[at] = pair == 2 && place > 3 ? 0.0 : 1.0;
    }
    rw_saddle_rows(x, counts, WIDTH, 0, PAIRS, found);
    check(isnan(found[4]), "no saddle point of one sign");
    check(!isnan(found[0]) && found[1] > 0.0, "a saddle point of both signs");
    rw_losses(x, counts, WIDTH, s, 0, PAIRS, found);
    check(fabs(found[4] + WIDTH * 0.5 / 1.05) < 1e-9, "the terms of a row");
    check(fabs(found[7] - WIDTH * log1p(0.05)) < 1e-9, "the logarithms of a row");
    for (int64_t at = 0; at < PAIRS * WIDTH; at++)
        x[at] = fabs(x[at]);
    for (int pair = 0; pair < PAIRS; pair++)
        offsets[pair] = 0.3;
    rw_weights(x, counts, WIDTH, offsets, 0, PAIRS, found);
    check(fabs(found[3] - 0.5) < 1e-12 && fabs(found[4]) < 1e-9, "the weights of equal distances");
}

static void saddles_of_bins(const double *x, const double *y, int64_t n, double least, double most) {
    enum { BINS = 64, WIDE = 16 };
    const double *columns[] = {x, y, y, x}, limits[] = {least, most, -most, -least}, signs[] = {1.0, -1.0};
    double found[8], *room = malloc((4 * BINS + 2 * RW_LANES) * sizeof *room);
    double *coarse = calloc(2 * WIDE * 2, sizeof *coarse);
    rw_saddles(columns, n, 2, limits, signs, 1.0, BINS, WIDE, 0, 2, room, found, coarse);
    for (int pair = 0; pair < 2; pair++) {
        double users = 0.0, sum = 0.0, expected = 0.0;
        for (int64_t at = 0; at < WIDE; at++) {
            users += coarse[2 * (WIDE * pair + at)];
            sum += coarse[2 * (WIDE * pair + at) + 1];
        }
        for (int64_t at = 0; at < n; at++)
            expected += columns[pair][at] - columns[2 + pair][at];
        check(users == (double)n, "the users in coarse bins");
        check(fabs(sum - expected) < 1e-9 * (double)n, "the sum of coarse bins");
    }
    free(coarse);
    for (int pair = 0; pair < 2; pair++) {
        const double *of = found + 4 * pair;
        double slope = 1.0 / (1.0 - of[0]), logs = log1p(-of[0]);
        for (int64_t at = 0; at < n; at++) {
            slope += (x[at] - y[at]) / (1.0 - of[0] * (x[at] - y[at]));
            logs += log1p(-of[0] * (x[at] - y[at]));
        }
        if (least < 0.0 && most > least) {
            check(fabs(slope) < 1e-6 * sqrt(of[1]), "the slope at a saddle point");
            check(fabs(of[3] - logs) < 1e-9 * (double)n, "the logarithms at a saddle point");
        } else
            check(isnan(of[0]), "no saddle point");
    }
    free(room);
}

static void bins(void) {
    enum { BINS = 5, LONGEST = 5000 };
    const int64_t n = 1 + below(LONGEST);
    double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
    double cells[2 * BINS] = {0.0};
    double least = INFINITY, most = -INFINITY, size = 0.0, total = 0.0, sum = 0.0;
    for (int64_t at = 0; at < n; at++) {
        x[at] = (double)below(8) / 8.0;
        y[at] = (double)below(8) / 8.0;
        least = x[at] - y[at] < least ? x[at] - y[at] : least;
        most = x[at] - y[at] > most ? x[at] - y[at] : most;
        sum += x[at] - y[at];
    }
    rw_bins(x, y, n, BINS, least, most, cells);
    for (int bin = 0; bin < BINS; bin++) {
        size += cells[2 * bin];
        total += cells[2 * bin + 1];
        check(!(cells[2 * bin + 1] > most * cells[2 * bin]), "the mean of a bin");
    }
    check(size == (double)n && total == sum, "the sizes and totals of bins");
    saddles_of_bins(x, y, n, least, most);
    free(x), free(y);
}

static void differences(void) {
    const int64_t n = below(20) ? 1 + below(40) : 2040 + below(20), pairs[] = {0, 1, 1, 0};
    double *x = malloc((size_t)n * sizeof(double)), *y = malloc((size_t)n * sizeof(double));
    double mean = 0.0, found[18], squares = 0.0, cubes = 0.0;
    int64_t wins = 0, losses = 0, not_zero = 0;
    for (int64_t at = 0; at < n; at++) { /* quarters: sums are exact */
        x[at] = (double)below(5) / 4;
        y[at] = (double)below(5) / 4 * (1 + (below(3) == 0) * 1e-15);
        const double d = x[at] - y[at];
        const int same = fabs(d) < 1e-9;
        wins += !same && d > 0, losses += !same && d < 0;
        not_zero += x[at] > 0 || y[at] > 0;
        mean += (same ? 0.0 : d) / (double)n;
    }
    for (int64_t at = 0; at < n; at++) {
        const double d = x[at] - y[at], from = (fabs(d) < 1e-9 ? 0.0 : d) - mean;
        squares += from * from, cubes += from * from * from;
    }
    const double *columns[] = {x, y}, means[] = {mean, -mean};
    rw_differences(columns, n, pairs, means, 0, 2, found);
    for (int pair = 0; pair < 2; pair++) {
        const double *of = found + 9 * pair, unit = ldexp(1.0, (int)of[6]), side = pair ? -1 : 1;
        check(of[pair] == wins && of[1 - pair] == losses && of[2] == not_zero, "wins and losses");
        check(fabs(of[3] - side * mean) < 1e-12, "a mean difference");
        check(of[4] <= of[3] && of[3] <= of[5], "the limits of differences");
        check(fabs(of[7] * unit * unit - squares) < 1e-9, "squares of differences");
        check(fabs(of[8] * unit * unit * unit - side * cubes) < 1e-9, "cubes of differences");
    }
    free(x), free(y);
}

/* Texts of two letters, each in its place of two buffers if it is long: no byte too many. */
static void texts(void) {
    enum { N = 8, MOST = 30 };
    uint8_t plain[N][MOST];
    int32_t length[N], behind[2] = {0};
    int64_t rows[N], changed = 0, expected = 0;
    int32_t codes[N];
    int64_t used[2] = {0}, origins[32];
    uint64_t few[64] = {0}, many[256] = {0};
    rw_view views[N], known[32];
    uint8_t *pool = malloc(N * MOST);
    for (int at = 0; at < N; at++) {
        length[at] = (int32_t)(below(4) ? 10 + below(5) : below(MOST));
        for (int letter = 0; letter < length[at]; letter++)
            plain[at][letter] = (uint8_t)('a' + (below(20) == 0));
        behind[at % 2] += length[at] > 12 ? length[at] : 0;
    }
    uint8_t *buffers[2];
    for (int at = 0; at < 2; at++)
        buffers[at] = malloc((size_t)(behind[at] ? behind[at] : 1));
    int32_t filled[2] = {0};
    for (int at = 0; at < N; at++) {
        uint8_t *view = (uint8_t *)(views + at);
        memset(view, 0, sizeof *views);
        memcpy(view, length + at, 4);
        memcpy(view + 4, plain[at], (size_t)(length[at] > 12 ? 4 : length[at]));
        if (length[at] > 12) {
            int32_t place[2] = {at % 2, filled[at % 2]};
            memcpy(view + 8, place, 8);
            memcpy(buffers[at % 2] + filled[at % 2], plain[at], (size_t)length[at]);
            filled[at % 2] += length[at];
        }
    }
    const uint8_t *const *read = (const uint8_t *const *)buffers;
    changed = rw_text_changes(views, read, 1, N, rows);
    /* the pool is too small, until it has room; all slots are moved on the way */
    int64_t row = 0, room = 0, bits = 6;
    for (; row < N; room += MOST) {
        const int64_t before = row;
        row = rw_text_codes(views, read, row, N, bits == 6 ? few : many, bits, known, pool, room,
                            used, origins, codes);
        check(row > before || room < MOST, "a text that fits");
        if (bits == 6)
            rw_spread_slots(few, 64, many, bits = 8);
    }
    check(rw_text_codes(views, read, 0, N, few, 5, known, pool, 0, used, origins, codes) == 0,
          "a table that is full");
    for (int at = 0; at < N; at++)
        for (int other = 0; other < N; other++) {
            int same = length[at] == length[other] &&
                       !memcmp(plain[at], plain[other], (size_t)length[at]);
            check(same == (codes[at] == codes[other]), "codes of texts");
            expected += other == at + 1 && !same;
        }
    for (int at = 0; at < N; at++)
        check(origins[codes[at]] <= at && codes[at] < used[0], "the first row of a text");
    check(changed == expected, "changes of texts");

    /* half of the rows are numbered; of the others some are known, and the rest is numbered after */
    uint64_t slots[256] = {0};
    int64_t others[N], again[2] = {0}, behind_pool = N * MOST;
    int32_t found[N];
    check(rw_text_codes(views, read, 0, N / 2, slots, 8, known, pool, behind_pool, again, origins,
                        found) == N / 2, "half of the texts");
    int64_t unknown = rw_text_lookup(views, read, N / 2, N, slots, 8, known, pool, found, others);
    for (int64_t at = 0, next = 0; at < N; at++) {
        const int is_new = at >= N / 2 && codes[at] >= again[0];
        check(!is_new || (next < unknown && others[next] == at), "the rows of unknown texts");
        next += is_new;
        check(is_new || found[at] == codes[at], "the code of a known text");
    }
    check(rw_text_codes_at(views, read, 0, unknown, slots, 8, known, pool, behind_pool, again,
                           origins, found, others) == unknown, "texts of some rows");
    check(!memcmp(found, codes, sizeof codes) && again[0] == used[0], "codes of looked up texts");
    check(!unknown || rw_text_codes_at(views, read, 0, unknown, few, 1, known, pool, 0, used, origins,
                                       found, others) == 0, "no room for texts of some rows");
    free(buffers[0]), free(buffers[1]), free(pool);
}

static void ties(void) {
    int64_t groups = 1 + below(5), owner[6], low[6], above[6], size[6], hits[6], depth[6], starts[6] = {0};
    for (int64_t group = 0; group < groups; group++) {
        owner[group] = group / 2, depth[group] = group % 2;
        low[group] = depth[group] ? low[group - 1] + size[group - 1] : 1;
        size[group] = 1 + below(9), hits[group] = 1 + below(size[group]);
        above[group] = depth[group] ? hits[group - 1] : 0;
        starts[group + 1] = starts[group] + 1 + below(size[group]);
    }
    int64_t n = starts[groups], *user = numbers(n), *rank = numbers(n);
    double *probability = malloc((size_t)n * sizeof(double)), *position = malloc((size_t)n * sizeof(double));
    rw_tied_rows(owner, low, above, size, hits, starts, groups, user, rank, probability, position);
    double *first = malloc((size_t)n * sizeof(double));
    rw_tied_first(depth, size, hits, starts, groups, first);
    for (int64_t group = 0; group < groups; group++) {
        double left = depth[group] ? 0.0 : 1.0;
        for (int64_t row = starts[group], at = 0; row < starts[group + 1]; row++, at++) {
            check(user[row] == group / 2 && rank[row] == low[group] + at, "ranks of ties");
            check(probability[row] * (double)size[group] < (double)hits[group] + 1e-9, "probabilities of ties");
            check(position[row] >= (double)above[group] + 1 && position[row] <= (double)(above[group] + hits[group]),
                  "positions in ties");
            const double hazard = (double)hits[group] / (double)(size[group] - at);
            const double expected = left * (hazard < 1.0 ? hazard : 1.0);
            check(fabs(first[row] - expected) < 1e-12, "the first of ties");
            left -= expected;
        }
    }
    free(user), free(rank), free(probability), free(position), free(first);
}

int main(void) {
    saddles_of_rows();
    for (int round = 0; round < 3000; round++) {
        lists_and_truth(30, 1);
        lists_and_truth(30, (int64_t)1 << 52);
        runs_and_ranks();
        sums();
        ties();
        columns_of_text();
        scores();
        largest_scores();
        rows_of_users();
        ranks_of_rows();
        pairs_above();
        bins();
        differences();
        texts();
    }
    puts("all kernels agree");
    return 0;
}
