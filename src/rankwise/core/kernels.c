/* Loops for which NumPy needs several passes over memory. Each has a twin in Python, which is its
   reference and takes its place where it was not compiled; both give the same bits.

   No function allocates memory or fails: callers pass work space and arrays of the right size.
   Positions are counted from 0; `starts` has one more element than there are lists. */

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef _WIN32
#define RW_API __declspec(dllexport)
#else
#define RW_API __attribute__((visibility("default")))
#endif

#ifndef RW_SOURCE
#define RW_SOURCE 0
#endif

/* Compiled for several processors, of which the right one is chosen when the library is loaded. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) &&        \
    !defined(__SANITIZE_ADDRESS__)
#define RW_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define RW_WIDE
#endif

/* Ask for memory that a loop will read soon: a processor alone does not look as far ahead. Farther
   than half a page of memory would be slower again, as each page has to be found first. */
#ifdef __GNUC__
#define RW_SOON(ADDRESS) __builtin_prefetch((const void *)((uintptr_t)(ADDRESS) + 2048))
#else
#define RW_SOON(ADDRESS)
#endif

/* The checksum of the source that the library was compiled from. */
RW_API uint32_t rw_source(void) { return RW_SOURCE; }

/* Match the items of each list with the judged items of its group: groups[list] is a run of judged
   items, -1 for none.

   `table` has 2^bits slots, more than the longest list has rows, all -1. It holds row numbers; those
   of earlier lists are below the list's first row, so that it is never cleared. Writes the matching
   rows, the judged row and the list of each, and all rows of an item that stands again further down
   its list.
   Rows are in order, unless *in_order is 0 afterwards: few are put in place one by one, many are left
   to be sorted. Returns the number of matches, or -1 if so many items share slots that another way
   is better: somebody may have chosen them so. There is room for `most` matches. */
#define RW_FEW 64
#define RW_PROBES 64

#define RW_MATCH(NAME, ITEM)                                                                      \
    RW_API int64_t NAME(const ITEM *items, const int64_t *starts, int64_t lists,                  \
                        const int64_t *judged, const int64_t *judged_starts,                      \
                        const int64_t *groups, int64_t most, int64_t *table, int32_t bits,        \
                        int64_t *rows, int64_t *judged_rows, int64_t *owners,                     \
                        int64_t *repeated, int64_t *n_repeated, int64_t *in_order) {              \
        const uint64_t mask = ((uint64_t)1 << bits) - 1;                                          \
        int64_t found = 0, again = 0;                                                             \
        int64_t probes = RW_PROBES * (starts[lists] + most + RW_PROBES);                          \
        *in_order = 1;                                                                            \
        for (int64_t list = 0; list < lists; list++) {                                            \
            const int64_t first = starts[list];                                                   \
            for (int64_t row = first; row < starts[list + 1]; row++) {                            \
                uint64_t slot = RW_SLOT(items[row], bits);                                        \
                RW_SOON(items + row);                                                             \
                while (table[slot] >= first && items[table[slot]] != items[row]) {                \
                    slot = (slot + 1) & mask;                                                     \
                    if (--probes < 0)                                                             \
                        return -1;                                                                \
                }                                                                                 \
                if (table[slot] >= first)                                                         \
                    repeated[again++] = table[slot];                                              \
                table[slot] = row;                                                                \
            }                                                                                     \
            if (groups[list] < 0)                                                                 \
                continue;                                                                         \
            const int64_t before = found, stop = judged_starts[groups[list] + 1];                 \
            const int many = stop - judged_starts[groups[list]] > RW_FEW;                         \
            *in_order &= !many;                                                                   \
            for (int64_t at = judged_starts[groups[list]]; at < stop; at++) {                     \
                uint64_t slot = RW_SLOT(judged[at], bits);                                        \
                while (table[slot] >= first && (int64_t)items[table[slot]] != judged[at]) {       \
                    slot = (slot + 1) & mask;                                                     \
                    if (--probes < 0)                                                             \
                        return -1;                                                                \
                }                                                                                 \
                if (table[slot] < first)                                                          \
                    continue;                                                                     \
                owners[found] = list;                                                             \
                int64_t place = found++;                                                          \
                for (; !many && place > before && rows[place - 1] > table[slot]; place--) {       \
                    rows[place] = rows[place - 1];                                                \
                    judged_rows[place] = judged_rows[place - 1];                                  \
                }                                                                                 \
                rows[place] = table[slot];                                                        \
                judged_rows[place] = at;                                                          \
            }                                                                                     \
        }                                                                                         \
        *n_repeated = again;                                                                      \
        return found;                                                                             \
    }

/* Fibonacci hashing: the highest bits of a product with 2^64 over the golden ratio. The high half is
   mixed in before, so that ids which differ in their highest bits alone do not share a slot. */
#define RW_SLOT(ITEM, BITS)                                                                       \
    (((uint64_t)(int64_t)(ITEM) ^ ((uint64_t)(int64_t)(ITEM) >> 32)) * 0x9E3779B97F4A7C15u >>     \
     (64 - (BITS)))

RW_MATCH(rw_match_int32, int32_t)
RW_MATCH(rw_match_int64, int64_t)

/* Write where values differ from the one before, from `first` (at least 1) up to `stop`, and return
   how many do. Sixteen at a time: most users have lists longer than that. */
#define RW_CHANGES(NAME, ID)                                                                      \
    RW_API int64_t NAME(const ID *ids, int64_t first, int64_t stop, int64_t *rows) {              \
        int64_t found = 0, row = first;                                                           \
        for (; row + 16 <= stop; row += 16) {                                                     \
            ID differ = 0;                                                                        \
            RW_SOON(ids + row);                                                                   \
            RW_SOON(ids + row + 8);                                                               \
            for (int64_t at = row; at < row + 16; at++)                                           \
                differ |= ids[at] ^ ids[at - 1];                                                  \
            for (int64_t at = row; differ && at < row + 16; at++)                                 \
                if (ids[at] != ids[at - 1])                                                       \
                    rows[found++] = at;                                                           \
        }                                                                                         \
        for (; row < stop; row++)                                                                 \
            if (ids[row] != ids[row - 1])                                                         \
                rows[found++] = row;                                                              \
        return found;                                                                             \
    }

RW_CHANGES(rw_changes_int32, int32_t)
RW_CHANGES(rw_changes_int64, int64_t)

/* Texts are Arrow's string views of 16 bytes: a length, then the text itself if it has at most 12
   bytes and zeros behind it, else its first four bytes, the number of a buffer and where in this
   buffer the text starts. */
typedef struct {
    uint64_t head, tail;
} rw_view;

static int32_t rw_length(const rw_view *view) {
    int32_t length;
    memcpy(&length, view, sizeof length);
    return length;
}

static const uint8_t *rw_text(const rw_view *view, const uint8_t *const *buffers) {
    int32_t place[2];
    memcpy(place, &view->tail, sizeof place);
    return buffers[place[0]] + place[1];
}

static int rw_same_text(const rw_view *a, const rw_view *b, const uint8_t *const *buffers) {
    if (a->head != b->head || a->tail == b->tail || rw_length(a) <= 12)
        return a->head == b->head && a->tail == b->tail;
    return !memcmp(rw_text(a, buffers), rw_text(b, buffers), (size_t)rw_length(a));
}

/* Write where texts differ from the one before, and return how many do. */
RW_API int64_t rw_text_changes(const rw_view *views, const uint8_t *const *buffers, int64_t first,
                               int64_t stop, int64_t *rows) {
    int64_t found = 0;
    for (int64_t row = first; row < stop; row++) {
        RW_SOON(views + row);
        if (!rw_same_text(views + row, views + row - 1, buffers))
            rows[found++] = row;
    }
    return found;
}

/* A step of a hash: for a given hash, each word gives another one. */
static uint64_t rw_mixed(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 32);
}

/* The hash of a text depends on its bytes alone. */
static uint64_t rw_text_hash(const rw_view *view, const uint8_t *const *buffers) {
    const int32_t length = rw_length(view);
    uint64_t hash = rw_mixed(0, view->head), word = view->tail;
    if (length > 12) {
        const uint8_t *text = rw_text(view, buffers) + 4; /* four are in the head */
        int32_t left = length - 4;
        for (; left > 8; left -= 8, text += 8) {
            memcpy(&word, text, 8);
            hash = rw_mixed(hash, word);
        }
        word = 0;
        memcpy(&word, text, (size_t)left);
    }
    return rw_mixed(hash, word);
}

static uint64_t rw_final(uint64_t hash) {
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9u;
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBu;
    return hash ^ (hash >> 31);
}

/* A vocabulary of texts, which are numbered as they come. `known` has the text of each number, as a
   view whose tail is a place in `pool` where the text has more than 12 bytes. `slots` has 2^bits
   places, at most 2^32: 0, or one more than the number of a text and above it the high half of the
   text's hash, in whose highest bits the search for the text begins. used[0] is the number of texts,
   used[1] that of bytes in the pool. */
#define RW_BATCH 32

#ifdef __GNUC__
#define RW_NOW(ADDRESS) __builtin_prefetch((const void *)(ADDRESS))
#else
#define RW_NOW(ADDRESS)
#endif

static int rw_is_known(const rw_view *known, const uint8_t *pool, const rw_view *view,
                       const uint8_t *const *buffers) {
    if (known->head != view->head)
        return 0;
    if (rw_length(view) <= 12)
        return known->tail == view->tail;
    return !memcmp(pool + known->tail, rw_text(view, buffers), (size_t)rw_length(view));
}

/* Where the search for a text begins, in the highest bits. Of texts of at most 12 bytes it is one
   product of their two words, folded (Wang Yi's wyhash). Neither factor is ever 0: no length is as
   large as the first constant has it, and no byte of UTF-8 is 0xFF. */
static uint64_t rw_slot_hash(const rw_view *view, const uint8_t *const *buffers) {
#ifdef __SIZEOF_INT128__
    if (rw_length(view) <= 12) {
        const unsigned __int128 product = (unsigned __int128)(view->head ^ 0xA0761D64FF8EBC6Bu) *
                                          (view->tail ^ 0xE7037ED1FF9B2F4Du);
        return (uint64_t)product ^ (uint64_t)(product >> 64);
    }
#endif
    return rw_final(rw_text_hash(view, buffers));
}

/* Whether the view is that of the row before. One branch: whether the starts of two texts are equal
   cannot be foreseen. */
static int rw_is_as_before(const rw_view *view) {
    return !((view->head ^ view[-1].head) | (view->tail ^ view[-1].tail));
}

/* Ask ahead of time for the slots, and then for the texts, that the search for some texts begins at. */
static void rw_hash_texts(const rw_view *views, const uint8_t *const *buffers, int64_t n,
                          const uint64_t *slots, int64_t bits, const rw_view *known,
                          uint64_t *hashes) {
    for (int64_t at = 0; at < n; at++) {
        RW_SOON(views + at);
        hashes[at] = rw_slot_hash(views + at, buffers);
        RW_NOW(slots + (hashes[at] >> (64 - bits)));
    }
    for (int64_t at = 0; at < n; at++) {
        const uint64_t slot = slots[hashes[at] >> (64 - bits)];
        RW_NOW(known + (slot ? (uint32_t)slot - 1 : 0));
    }
}

/* Return the slot of a text, or the free one that it would take. */
static uint64_t rw_slot_of(const rw_view *view, const uint8_t *const *buffers, uint64_t hash,
                           const uint64_t *slots, int64_t bits, const rw_view *known,
                           const uint8_t *pool) {
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    uint64_t slot = hash >> (64 - bits);
    while (slots[slot] && ((slots[slot] ^ hash) >> 32 ||
                           !rw_is_known(known + (uint32_t)slots[slot] - 1, pool, view, buffers)))
        slot = (slot + 1) & mask;
    return slot;
}

/* Write the number of the text of a row, and if it is new the row to `origins`. Returns 0 if it is new
   and does not fit the pool. */
static int rw_number_text(const rw_view *views, const uint8_t *const *buffers, int64_t row,
                          uint64_t hash, uint64_t *slots, int64_t bits, rw_view *known,
                          uint8_t *pool, int64_t room, int64_t *used, int64_t *origins,
                          int32_t *codes) {
    const rw_view *view = views + row;
    uint64_t *slot = slots + rw_slot_of(view, buffers, hash, slots, bits, known, pool);
    if (!*slot) {
        const int64_t length = rw_length(view);
        rw_view *text = known + used[0];
        *text = *view;
        if (length > 12) {
            if (used[1] + length > room)
                return 0;
            memcpy(pool + used[1], rw_text(view, buffers), (size_t)length);
            text->tail = (uint64_t)used[1];
            used[1] += length;
        }
        origins[used[0]++] = row;
        *slot = (hash >> 32 << 32) | (uint64_t)used[0];
    }
    codes[row] = (int32_t)((uint32_t)*slot - 1);
    return 1;
}

/* Write the number of each text, and of a text that is new its row to `origins`. Returns the row
   before which it stopped because half the slots are taken, or because a text does not fit the
   `room` of the pool. A row with the view of the row before is the same text. The table is asked
   for ahead of time, for as many rows as there is always room for. */
RW_API int64_t rw_text_codes(const rw_view *views, const uint8_t *const *buffers, int64_t first,
                             int64_t stop, uint64_t *slots, int64_t bits,
                             rw_view *known, uint8_t *pool, int64_t room, int64_t *used,
                             int64_t *origins, int32_t *codes) {
    uint64_t hashes[RW_BATCH];
    for (int64_t row = first; row < stop;) {
        const int64_t start = row, end = stop - row < RW_BATCH ? stop : row + RW_BATCH;
        if (used[0] + RW_BATCH > (int64_t)1 << (bits - 1))
            return row;
        rw_hash_texts(views + row, buffers, end - row, slots, bits, known, hashes);
        for (; row < end; row++) {
            if (row > first && rw_is_as_before(views + row)) {
                codes[row] = codes[row - 1];
                continue;
            }
            if (!rw_number_text(views, buffers, row, hashes[row - start], slots, bits, known, pool,
                                room, used, origins, codes))
                return row;
        }
    }
    return stop;
}

/* As `rw_text_codes`, of some rows only: those of `rows`, from place `first` up to `stop`. */
RW_API int64_t rw_text_codes_at(const rw_view *views, const uint8_t *const *buffers, int64_t first,
                                int64_t stop, uint64_t *slots, int64_t bits,
                                rw_view *known, uint8_t *pool, int64_t room, int64_t *used,
                                int64_t *origins, int32_t *codes, const int64_t *rows) {
    for (int64_t at = first; at < stop; at++) {
        const uint64_t hash = rw_slot_hash(views + rows[at], buffers);
        if (used[0] + 1 > (int64_t)1 << (bits - 1) ||
            !rw_number_text(views, buffers, rows[at], hash, slots, bits, known, pool, room, used,
                            origins, codes))
            return at;
    }
    return stop;
}

/* Write the number of each text that is known, and the rows of all others to `rows`; returns how
   many there are. The table stays as it is, so that several threads may look texts up. */
RW_API int64_t rw_text_lookup(const rw_view *views, const uint8_t *const *buffers, int64_t first,
                              int64_t stop, const uint64_t *slots, int64_t bits, rw_view *known,
                              const uint8_t *pool, int32_t *codes, int64_t *rows) {
    uint64_t hashes[RW_BATCH];
    int64_t unknown = 0;
    for (int64_t row = first; row < stop;) {
        const int64_t start = row, end = stop - row < RW_BATCH ? stop : row + RW_BATCH;
        rw_hash_texts(views + row, buffers, end - row, slots, bits, known, hashes);
        for (; row < end; row++) {
            const uint64_t hash = hashes[row - start];
            const uint64_t slot =
                slots[rw_slot_of(views + row, buffers, hash, slots, bits, known, pool)];
            codes[row] = (int32_t)((uint32_t)slot - 1);
            rows[unknown] = row;
            unknown += !slot;
        }
    }
    return unknown;
}

/* Put what `n` slots hold into a larger table of 2^bits slots, which are all 0. */
RW_API void rw_spread_slots(const uint64_t *slots, int64_t n, uint64_t *larger, int64_t bits) {
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    for (int64_t at = 0; at < n; at++) {
        if (!slots[at])
            continue;
        uint64_t slot = slots[at] >> (64 - bits);
        while (larger[slot])
            slot = (slot + 1) & mask;
        larger[slot] = slots[at];
    }
}

/* Whether a text is a whole number as it would be written back, of 64 bits: then *value is it. */
static int rw_whole_number(const rw_view *view, const uint8_t *const *buffers, int64_t *value) {
    const uint8_t start = (uint8_t)(view->head >> 32); /* of most texts it tells enough */
    if (start != '-' && (uint8_t)(start - '0') > 9)
        return 0;
    const int32_t length = rw_length(view);
    const uint8_t *text = length > 12 ? rw_text(view, buffers) : (const uint8_t *)view + 4;
    const int32_t sign = length > 0 && text[0] == '-', digits = length - sign;
    if (digits < 1 || digits > 19 || (text[sign] == '0' && length > 1))
        return 0;
    uint64_t number = 0;
    for (int32_t at = sign; at < length; at++) {
        if (text[at] < '0' || text[at] > '9')
            return 0;
        number = 10 * number + (uint64_t)(text[at] - '0');
    }
    if (number > (uint64_t)INT64_MAX + (uint64_t)sign)
        return 0;
    *value = (int64_t)(sign ? 0 - number : number);
    return 1;
}

/* Write a number for each text: a whole number itself, a hash of any other text. A text that lies where
   the one before lies is the same. */
RW_API void rw_id_numbers(const rw_view *views, const uint8_t *const *buffers, int64_t first,
                          int64_t stop, int64_t *numbers) {
    for (int64_t row = first; row < stop; row++) {
        const rw_view *view = views + row;
        RW_SOON(view);
        if (row > first && rw_is_as_before(view))
            numbers[row] = numbers[row - 1];
        else if (!rw_whole_number(view, buffers, numbers + row))
            numbers[row] = (int64_t)rw_text_hash(view, buffers);
    }
}

/* The finaliser of SplitMix64. */
/* Return the sum of the hashes of rows: of `start` and each word times the factor of its column. */
RW_API uint64_t rw_row_digest(const uint64_t *const *columns, const uint64_t *factors, int64_t n_columns, int64_t rows,
                              uint64_t start) {
    uint64_t total = 0;
    if (n_columns == 2) { /* users and items: without a loop over columns, in a third of the time */
        const uint64_t *a = columns[0], *b = columns[1], p = factors[0], q = factors[1];
        for (int64_t row = 0; row < rows; row++)
            total += rw_final(start + p * a[row] + q * b[row]);
        return total;
    }
    for (int64_t row = 0; row < rows; row++) {
        uint64_t hash = start;
        for (int64_t column = 0; column < n_columns; column++)
            hash += factors[column] * columns[column][row];
        total += rw_final(hash);
    }
    return total;
}

/* Write where the rows of each user end at each cut-off: ends[cut * users + u] is one more than the
   last row of user u at a rank up to cuts[cut], of an array that is all 0 before. Rows are in order
   of user and rank. Without a branch: where a list has its hits cannot be foreseen. */
RW_API void rw_ends(const int64_t *user, const int64_t *rank, int64_t n, const int64_t *cuts,
                    int64_t n_cuts, int64_t users, int64_t *ends) {
    for (int64_t row = 0; row < n; row++)
        for (int64_t cut = 0; cut < n_cuts; cut++) {
            int64_t *end = ends + cut * users + user[row];
            *end = rank[row] <= cuts[cut] ? row + 1 : *end;
        }
}

/* Write the number of each row among those of its user, from 1; rows are in order of user. */
RW_API void rw_positions(const int64_t *user, int64_t n, double *positions) {
    int64_t position = 0;
    for (int64_t row = 0; row < n; row++) {
        const int goes_on = row && user[row] == user[row - 1];
        position = (position & -(int64_t)goes_on) + 1; /* without a branch */
        positions[row] = (double)position;
    }
}

/* Add the values of each user up, in their order, and write the sums at some ends, of which there
   are `cells`: the sum up to that row, or 0 where the end is 0. `running` has room for n + 1.

   Users are dealt into lanes, which are added up side by side: a sum waits for the one before it. */
#define RW_STREAMS 4

RW_API void rw_sums(const int64_t *user, const double *values, int64_t n, const int64_t *ends,
                    int64_t cells, double *running, double *sums) {
    int64_t first[RW_STREAMS + 1] = {0}, steps = n;
    union {
        double sum;
        int64_t bits;
    } lanes[RW_STREAMS] = {{0.0}};
    for (int lane = 0; lane < RW_STREAMS; lane++) {
        int64_t stop = n * (lane + 1) / RW_STREAMS;
        stop = stop < first[lane] ? first[lane] : stop;
        while (stop > 0 && stop < n && user[stop] == user[stop - 1])
            stop++;
        first[lane + 1] = stop;
        const int64_t size = stop - first[lane];
        steps = size < steps ? size : steps;
    }
    running[0] = 0.0;
    for (int64_t step = 0; step < steps; step++)
        for (int lane = 0; lane < RW_STREAMS; lane++) {
            const int64_t row = first[lane] + step;
            const int goes_on = step && user[row] == user[row - 1];
            lanes[lane].bits &= -(int64_t)goes_on; /* 0 for another user, without a branch */
            lanes[lane].sum += values[row];
            running[row + 1] = lanes[lane].sum;
        }
    for (int lane = 0; lane < RW_STREAMS; lane++)
        for (int64_t row = first[lane] + steps; row < first[lane + 1]; row++) {
            const int goes_on = row > first[lane] && user[row] == user[row - 1];
            lanes[lane].sum = (goes_on ? lanes[lane].sum : 0.0) + values[row];
            running[row + 1] = lanes[lane].sum;
        }
    for (int64_t cell = 0; cell < cells; cell++)
        sums[cell] = running[ends[cell]];
}

/* Write a row for each rank of tied groups of `size` items, `hits` of them relevant: its user, its rank, the
   probability that a relevant item has it, and which of the user's hits one would be there. Before a group come
   `above` hits of its user; its first rows are those from starts[group] on. */
RW_API void rw_tied_rows(const int64_t *owner, const int64_t *first, const int64_t *above,
                         const int64_t *size, const int64_t *hits, const int64_t *starts,
                         int64_t groups, int64_t *user, int64_t *rank, double *probability,
                         double *position) {
    for (int64_t group = 0; group < groups; group++) {
        const double share = (double)hits[group] / (double)size[group];
        const double others = size[group] > 2 ? (double)(size[group] - 1) : 1.0;
        const double next = (double)above[group] + 1.0;
        const int64_t start = starts[group], rows = starts[group + 1] - start;
        for (int64_t at = 0; at < rows; at++) {
            user[start + at] = owner[group];
            rank[start + at] = first[group] + at;
            probability[start + at] = share;
            position[start + at] = next + (double)(at * (hits[group] - 1)) / others;
        }
    }
}

/* The probability that the next item is relevant, after `passed` irrelevant ones of a tied group. */
static inline double rw_hazard(int64_t hits, int64_t size, int64_t passed) {
    const double hazard = (double)hits / (double)(size - passed);
    return hazard < 1.0 ? hazard : 1.0;
}

/* Write for each row of tied groups the probability that the first relevant item of its user is there: 0 unless
   the group is the user's first, of depth 0. The products of what lies above are taken in steps of doubling. */
RW_API void rw_tied_first(const int64_t *depth, const int64_t *size, const int64_t *hits,
                          const int64_t *starts, int64_t groups, double *first) {
    for (int64_t group = 0; group < groups; group++) {
        const int64_t rows = starts[group + 1] - starts[group];
        double *reached = first + starts[group];
        if (depth[group]) {
            memset(reached, 0, (size_t)rows * sizeof *reached);
            continue;
        }
        for (int64_t at = 0; at < rows; at++)
            reached[at] = at ? 1.0 - rw_hazard(hits[group], size[group], at - 1) : 1.0;
        for (int64_t step = 1; step < rows; step *= 2)
            for (int64_t at = rows - 1; at >= step; at--)
                reached[at] *= reached[at - step];
        for (int64_t at = 0; at < rows; at++)
            reached[at] *= rw_hazard(hits[group], size[group], at);
    }
}

/* Whether ranks count 1, 2, 3, ... down each of some lists, or from another `base`. */
RW_WIDE RW_API int64_t rw_counts_up(const int64_t *rank, const int64_t *starts, int64_t first,
                                    int64_t stop, int64_t base) {
    for (int64_t list = first; list < stop; list++) {
        const int64_t before = starts[list] - base;
        int64_t differ = 0;
        for (int64_t row = starts[list]; row < starts[list + 1]; row++)
            differ |= rank[row] ^ (row - before);
        if (differ)
            return 0;
    }
    return 1;
}

/* Write few numbers with the same exact sum as many: at most 64 for every RW_CHUNK values.

   A large power of two, added and taken away again, leaves multiples of one unit, few enough for
   their sum to need no rounding; what they leave of the values is summed in the next step (Rump,
   Ogita & Oishi 2008). Returns how many numbers there are, or -1 if a value is not finite, or so
   large that there is no room for that power. */
#define RW_CHUNK 16384
#define RW_LANES 16
#define RW_BITS 37 /* of each number that a step takes away, at least */

RW_WIDE RW_API int64_t rw_exact_parts(const double *values, int64_t n, double *parts) {
    double rest[RW_CHUNK];
    int64_t written = 0;
    for (int64_t start = 0; start < n; start += RW_CHUNK) {
        const int64_t size = n - start < RW_CHUNK ? n - start : RW_CHUNK;
        int64_t most[RW_LANES] = {0}; /* bits without a sign are in the order of their numbers */
        memcpy(rest, values + start, (size_t)size * sizeof *rest);
        for (int64_t at = size; at % RW_LANES; at++)
            rest[at] = 0.0;
        for (int64_t at = 0; at < size; at += RW_LANES) {
            int64_t bits[RW_LANES];
            memcpy(bits, rest + at, sizeof bits);
            for (int lane = 0; lane < RW_LANES; lane++) {
                const int64_t magnitude = bits[lane] & INT64_MAX;
                most[lane] = magnitude > most[lane] ? magnitude : most[lane];
            }
        }
        int64_t highest = 0;
        for (int lane = 0; lane < RW_LANES; lane++)
            highest = most[lane] > highest ? most[lane] : highest;
        double left = (union { int64_t bits; double as; }){highest}.as;
        if (!(left <= DBL_MAX))
            return -1;
        int exponent;
        frexp(left, &exponent);
        if (exponent > 1000)
            return -1;
        for (; left != 0.0; exponent -= 2 * RW_BITS) { /* two steps: mostly they leave nothing */
            const double shift = ldexp(1.5, exponent + 52 - RW_BITS);
            const double next_shift = ldexp(1.5, exponent + 52 - 2 * RW_BITS);
            double sums[RW_LANES] = {0.0}, next[RW_LANES] = {0.0}, some[RW_LANES] = {0.0};
            for (int64_t at = 0; at < size; at += RW_LANES)
                for (int lane = 0; lane < RW_LANES; lane++) {
                    const double multiple = (rest[at + lane] + shift) - shift;
                    const double smaller = rest[at + lane] - multiple;
                    const double next_multiple = (smaller + next_shift) - next_shift;
                    rest[at + lane] = smaller - next_multiple;
                    sums[lane] += multiple; /* exact, as every sum of these multiples is */
                    next[lane] += next_multiple;
                    some[lane] += fabs(rest[at + lane]);
                }
            parts[written] = parts[written + 1] = left = 0.0;
            for (int lane = 0; lane < RW_LANES; lane++) {
                parts[written] += sums[lane];
                parts[written + 1] += next[lane];
                left += some[lane];
            }
            written += 2;
        }
    }
    return written;
}

/* Whether a text has, from `first` to `stop`, what no file of plain numbers has: a blank, a quotation
   mark, a carriage return inside a line, or a field that starts with a plus, with a zero before other
   digits, or with -0 and no point. Many bytes at a time, in two short loops, which take less time than
   one with all of these tests. As columns are not told apart, a note with a blank is odd as well. */
#define RW_IS(BYTE, OTHER) ((uint8_t)((BYTE) == (OTHER)))
#define RW_ODD_START(TEXT)                                                                         \
    ((RW_IS((TEXT)[-1], separator) | RW_IS((TEXT)[-1], '\n')) &                                    \
     (RW_IS((TEXT)[0], '+') |                                                                      \
      (RW_IS((TEXT)[0], '0') & (uint8_t)((uint8_t)((TEXT)[1] - '0') <= 9)) |                       \
      (RW_IS((TEXT)[0], '-') & RW_IS((TEXT)[1], '0') & (uint8_t)((TEXT)[2] != '.'))))
#define RW_ODD_BYTE(TEXT) /* blanks, marks and controls have the lowest codes */                   \
    ((uint8_t)((TEXT)[0] <= '"') & (uint8_t)((TEXT)[0] != '\n') &                                  \
     (uint8_t)((TEXT)[0] != separator) & (uint8_t)(((TEXT)[0] != '\r') | ((TEXT)[1] != '\n')))

RW_WIDE RW_API int64_t rw_odd_text(const uint8_t *text, int64_t n, int64_t first, int64_t stop,
                                   uint8_t separator) {
    uint8_t odd = 0;
    for (int64_t start = first; start < stop && !odd; start += 1 << 13) {
        const int64_t end = start + (1 << 13) < stop ? start + (1 << 13) : stop;
        const int64_t from = start ? start : 1, to = end < n - 2 ? end : n - 2;
        for (int64_t at = from; at < to; at++)
            odd |= RW_ODD_START(text + at);
        for (int64_t at = from; at < to; at++)
            odd |= RW_ODD_BYTE(text + at);
    }
    const int64_t edges[] = {0, n - 2, n - 1}; /* where bytes before or behind are not of the text */
    for (int edge = 0; edge < 3; edge++) {
        const int64_t at = edges[edge];
        if (at < first || at >= stop)
            continue;
        const uint8_t window[] = {at > 0 ? text[at - 1] : '\n', text[at],
                                at + 1 < n ? text[at + 1] : '\n', at + 2 < n ? text[at + 2] : '\n'};
        odd |= RW_ODD_START(window + 1) | RW_ODD_BYTE(window + 1);
    }
    return odd;
}

/* Which of some columns hold whole numbers in canonical form, and nothing else: no blank, no plus,
   no leading zero, at most 18 digits. `wanted` has a bit for each column that is asked about; the
   bits that hold are returned. Lines end with LF or CR LF, and no field is quoted. Where a line has
   another number of fields, nothing holds. */
RW_API uint64_t rw_whole_columns(const uint8_t *text, int64_t n, uint8_t separator, int64_t columns,
                                 uint64_t wanted) {
    int64_t at = 0;
    while (at < n && wanted) {
        for (int64_t column = 0; column < columns; column++) {
            const int64_t first = at + (at < n && text[at] == '-');
            const int64_t start = at;
            at = first;
            while (at < n && text[at] >= '0' && text[at] <= '9')
                at++;
            const int64_t digits = at - first;
            int whole = digits > 0 && digits <= 18;
            whole &= digits == 0 || text[first] != '0' || (digits == 1 && first == start);
            const int64_t end = at;
            while (at < n && text[at] != separator && text[at] != '\n')
                at++;
            const int is_last = column == columns - 1;
            if ((at < n && text[at] == separator) == is_last)
                return 0;
            whole &= at == end || (is_last && at == end + 1 && text[end] == '\r');
            if (!whole)
                wanted &= ~((uint64_t)1 << column);
            at++;
        }
    }
    return wanted;
}

/* Count the scores of a row that are above each of some judged scores, those that are equal, and
   those above minus infinity. Rows lie `stride` numbers apart; judged scores of a row are those from
   starts[row] on. Four at a time: the row is then read from the nearest memory a quarter as often.
   Returns 0, and stops, where a score is NaN or infinity. */
#define RW_COUNT(NAME, SCORE, COUNT, LARGEST)                                                     \
    RW_WIDE static int NAME##_length(const SCORE *scores, int64_t width, int64_t *length) {       \
        COUNT bad = 0;                                                                            \
        *length = 0;                                                                              \
        for (int64_t first = 0; first < width; first += 1 << 16) {                                \
            const int64_t stop = first + (1 << 16) < width ? first + (1 << 16) : width;           \
            COUNT known = 0;                                                                      \
            for (int64_t at = first; at < stop; at++) {                                           \
                known += scores[at] >= -LARGEST;                                                  \
                bad += !(scores[at] <= LARGEST);                                                  \
            }                                                                                     \
            *length += known;                                                                     \
        }                                                                                         \
        return bad == 0;                                                                          \
    }                                                                                             \
    RW_WIDE static void NAME##_row(const SCORE *scores, int64_t width, const SCORE *judged,       \
                                   int64_t *above, int64_t *equal, int64_t n) {                   \
        const SCORE a = judged[0], b = judged[n > 1], c = judged[n > 2 ? 2 : 0],                  \
                    d = judged[n > 3 ? 3 : 0];                                                    \
        for (int64_t first = 0; first < width; first += 1 << 16) {                                \
            const int64_t stop = first + (1 << 16) < width ? first + (1 << 16) : width;           \
            COUNT over[4] = {0}, same[4] = {0};                                                   \
            for (int64_t at = first; at < stop; at++) {                                           \
                const SCORE score = scores[at];                                                   \
                over[0] += score > a, same[0] += score == a;                                      \
                over[1] += score > b, same[1] += score == b;                                      \
                over[2] += score > c, same[2] += score == c;                                      \
                over[3] += score > d, same[3] += score == d;                                      \
            }                                                                                     \
            for (int64_t at = 0; at < n; at++) {                                                  \
                above[at] += over[at];                                                            \
                equal[at] += same[at];                                                            \
            }                                                                                     \
        }                                                                                         \
    }                                                                                             \
    RW_API int64_t NAME(const SCORE *scores, int64_t stride, int64_t width,                       \
                        const int64_t *starts, int64_t rows, const SCORE *judged,                 \
                        int64_t *lengths, int64_t *above, int64_t *equal) {                       \
        for (int64_t row = 0; row < rows; row++, scores += stride) {                              \
            if (!NAME##_length(scores, width, lengths + row))                                     \
                return 0;                                                                         \
            for (int64_t at = starts[row]; at < starts[row + 1]; at += 4) {                       \
                const int64_t left = starts[row + 1] - at;                                        \
                NAME##_row(scores, width, judged + at, above + at, equal + at,                    \
                           left < 4 ? left : 4);                                                  \
            }                                                                                     \
        }                                                                                         \
        return 1;                                                                                 \
    }

RW_COUNT(rw_count_float32, float, int32_t, FLT_MAX)
RW_COUNT(rw_count_float64, double, int64_t, DBL_MAX)

/* Find the `k` largest scores of each row, and those that are equal to the last of them.

   Rows lie `stride` numbers apart; minus infinity is no score. Items are dealt into groups, at most
   `width`, item i into i mod `groups`. The k-th largest of their maxima is at most the k-th largest
   score, so that only groups that reach it are read again. A k-th largest is found bit by bit, in
   whole numbers that are in the order of the scores; `keys` has room for those of a row. Writes the
   items of one row after the other, their scores, and how many a row has. Returns how many there are,
   or -1 if a score is NaN or infinity, or if fewer than `width` of `room` places are left for a row. */
#define RW_TOP(NAME, SCORE, KEY, BITS, LARGEST, MOST)                                             \
    static inline KEY NAME##_key(SCORE score) {                                                   \
        const union {                                                                             \
            SCORE score;                                                                          \
            KEY key;                                                                              \
        } bits = {score + 0}; /* so that -0 is 0 */                                               \
        return bits.key ^ (bits.key < 0 ? MOST : 0);                                              \
    }                                                                                             \
    RW_WIDE static KEY NAME##_kth(const KEY *keys, int64_t n, int64_t k) {                        \
        const KEY least = NAME##_key(-LARGEST);                                                   \
        KEY kth = -MOST - 1;                                                                      \
        for (int bit = BITS - 1; n >= k && bit >= 0; bit--) {                                     \
            const KEY higher = bit == BITS - 1 ? 0 : kth + ((KEY)1 << bit);                       \
            KEY reached = 0;                                                                      \
            for (int64_t at = 0; at < n; at++)                                                    \
                reached += keys[at] >= higher;                                                    \
            kth = reached >= k ? higher : kth;                                                    \
        }                                                                                         \
        return kth > least ? kth : least;                                                         \
    }                                                                                             \
    RW_WIDE static int NAME##_maxima(const SCORE *scores, int64_t width, int64_t groups,          \
                                     SCORE *maxima, KEY *keys) {                                  \
        KEY good = 1;                                                                             \
        for (int64_t group = 0; group < groups; group++)                                          \
            maxima[group] = -INFINITY;                                                            \
        for (int64_t first = 0; first < width; first += groups) {                                 \
            const int64_t size = width - first < groups ? width - first : groups;                 \
            for (int64_t group = 0; group < size; group++) {                                      \
                const SCORE score = scores[first + group];                                        \
                maxima[group] = score > maxima[group] ? score : maxima[group];                    \
                good &= score <= LARGEST;                                                         \
            }                                                                                     \
        }                                                                                         \
        for (int64_t group = 0; group < groups; group++)                                          \
            keys[group] = NAME##_key(maxima[group]);                                              \
        return good != 0;                                                                         \
    }                                                                                             \
    RW_API int64_t NAME(const SCORE *scores, int64_t stride, int64_t width, int64_t rows,         \
                        int64_t groups, int64_t k, int64_t room, KEY *keys, int32_t *items,       \
                        SCORE *best, int64_t *lengths) {                                          \
        int64_t total = 0;                                                                        \
        for (int64_t row = 0; row < rows; row++, scores += stride) {                              \
            if (room - total < width ||                                                           \
                !NAME##_maxima(scores, width, groups, best + total, keys))                        \
                return -1;                                                                        \
            int64_t n = 0, kept = 0;                                                              \
            KEY least = NAME##_kth(keys, groups, k);                                              \
            for (int64_t group = 0; group < groups; group++)                                      \
                if (keys[group] >= least)                                                         \
                    for (int64_t item = group; item < width; item += groups)                      \
                        if (NAME##_key(scores[item]) >= least)                                    \
                            items[total + n++] = (int32_t)item;                                   \
            for (int64_t at = 0; at < n; at++)                                                    \
                keys[at] = NAME##_key(scores[items[total + at]]);                                 \
            least = NAME##_kth(keys, n, k);                                                       \
            for (int64_t at = 0; at < n; at++) {                                                  \
                items[total + kept] = items[total + at];                                          \
                kept += keys[at] >= least;                                                        \
            }                                                                                     \
            lengths[row] = kept;                                                                  \
            for (; kept > 0; kept--, total++)                                                     \
                best[total] = scores[items[total]];                                               \
        }                                                                                         \
        return total;                                                                             \
    }

RW_TOP(rw_top_float32, float, int32_t, 32, FLT_MAX, INT32_MAX)
RW_TOP(rw_top_float64, double, int64_t, 64, DBL_MAX, INT64_MAX)

/* Count how often each code occurs among some rows; adds to `counts`. */
RW_API void rw_count(const int64_t *codes, int64_t first, int64_t stop, int64_t *counts) {
    for (int64_t row = first; row < stop; row++)
        counts[codes[row]]++;
}

/* Write the numbers of rows to the next place of their code, which `next` has and moves on. */
RW_API void rw_bucket(const int64_t *codes, int64_t n, int64_t *next, int64_t *order) {
    for (int64_t row = 0; row < n; row++)
        order[next[codes[row]]++] = row;
}

/* Move rows to the next place of their code, which `next` has and moves on. */
RW_API void rw_scatter(const int64_t *codes, const int64_t *items, const double *scores,
                       int64_t first, int64_t stop, int64_t *next, int32_t *out_items,
                       double *out_scores) {
    for (int64_t row = first; row < stop; row++) {
        const int64_t place = next[codes[row]]++;
        out_items[place] = (int32_t)items[row];
        out_scores[place] = scores[row];
    }
}

/* Move rows to the place of their rank, counted from `base`, in the list of their code. Returns 0,
   and leaves the rest, if a rank is none of its list. */
RW_API int64_t rw_place(const int64_t *codes, const int64_t *rank, const int64_t *items,
                        int64_t first, int64_t stop, const int64_t *starts, int64_t base,
                        int32_t *out_items) {
    for (int64_t row = first; row < stop; row++) {
        const int64_t first_place = starts[codes[row]];
        if (rank[row] < base || rank[row] - base >= starts[codes[row] + 1] - first_place)
            return 0;
        out_items[first_place + (rank[row] - base)] = (int32_t)items[row];
    }
    return 1;
}

/* Write the rank of some rows in their lists: rows with larger scores come before, and of equal ones
   those with smaller numbers. A count over the list for each row, in place of ordering the list. */
RW_API void rw_ranks(const double *scores, const int64_t *numbers, const int64_t *starts,
                     const int64_t *rows, const int64_t *lists, int64_t n, int64_t *ranks) {
    for (int64_t at = 0; at < n; at++) {
        const double score = scores[rows[at]];
        const int64_t number = numbers[rows[at]];
        int64_t before = 0;
        for (int64_t row = starts[lists[at]]; row < starts[lists[at] + 1]; row++)
            before += (scores[row] > score) | ((scores[row] == score) & (numbers[row] < number));
        ranks[at] = before + 1;
    }
}

/* What tests ask of the differences x - y of some pairs of columns: pairs[2 * pair] is the column of x,
   the next number that of y, and means[pair] their mean, as far as it is known without the rule that a
   difference within rounding error of its values is 0: it is brought into the range of differences.

   Writes 9 numbers a pair: how many differences are positive, how many negative, how many pairs are not
   both 0, the mean, the smallest and the largest difference, an exponent, and the sums of the squares and
   cubes of deviations from the mean, divided by 2 to this exponent, so that no square is too small for a float.
   Numbers are summed in lanes, and each RW_BLOCK of them for itself: few rounding errors add up. */
#define RW_NEAR 1e-12
#define RW_BLOCK 2048
#define RW_LEAST_EXPONENT -1000
#define RW_CLOSE 1e-10

/* Write the differences of the next rows, of which `left` are left; return how many they are. */
static inline int64_t rw_block(const double *x, const double *y, int64_t left, double *d) {
    const int64_t size = left < RW_BLOCK ? left : RW_BLOCK;
    for (int64_t row = 0; row < size; row++) {
        const double size_x = fabs(x[row]), size_y = fabs(y[row]), gap = x[row] - y[row];
        d[row] = fabs(gap) <= RW_NEAR * (size_x > size_y ? size_x : size_y) ? 0.0 : gap;
    }
    return size;
}

/* Add numbers up in lanes, which `sums` has; there is room for zeros up to a whole number of lanes. */
static inline void rw_add(double *numbers, int64_t size, double *sums) {
    double some[RW_LANES] = {0.0};
    for (int64_t at = size; at % RW_LANES; at++)
        numbers[at] = 0.0;
    for (int64_t at = 0; at < size; at += RW_LANES)
        for (int lane = 0; lane < RW_LANES; lane++)
            some[lane] += numbers[at + lane];
    for (int lane = 0; lane < RW_LANES; lane++)
        sums[lane] += some[lane];
}

static inline double rw_total(const double *lanes) {
    double sum = 0.0;
    for (int lane = 0; lane < RW_LANES; lane++)
        sum += lanes[lane];
    return sum;
}

/* Keep the smallest and the largest of numbers, in lanes. */
static inline void rw_extend(double *numbers, int64_t size, double *least, double *most) {
    for (int64_t at = size; at % RW_LANES; at++)
        numbers[at] = numbers[0];
    for (int64_t at = 0; at < size; at += RW_LANES)
        for (int lane = 0; lane < RW_LANES; lane++) {
            const double number = numbers[at + lane];
            least[lane] = number < least[lane] ? number : least[lane];
            most[lane] = number > most[lane] ? number : most[lane];
        }
}

RW_WIDE static void rw_moments(const double *x, const double *y, int64_t n, double mean,
                               double *found) {
    double d[RW_BLOCK], square[RW_BLOCK], least[RW_LANES], most[RW_LANES];
    double squares[RW_LANES] = {0.0}, cubes[RW_LANES] = {0.0};
    int64_t wins = 0, losses = 0, not_zero = 0;
    for (int lane = 0; lane < RW_LANES; lane++) {
        least[lane] = INFINITY;
        most[lane] = -INFINITY;
    }
    for (int64_t row = 0; row < n; row += RW_BLOCK) {
        const int64_t size = rw_block(x + row, y + row, n - row, d);
        for (int64_t at = 0; at < size; at++) {
            wins += d[at] > 0.0;
            losses += d[at] < 0.0;
            not_zero += (x[row + at] != 0.0) | (y[row + at] != 0.0);
        }
        rw_extend(d, size, least, most);
    }
    for (int lane = 1; lane < RW_LANES; lane++) {
        least[0] = least[lane] < least[0] ? least[lane] : least[0];
        most[0] = most[lane] > most[0] ? most[lane] : most[0];
    }
    mean = mean < least[0] ? least[0] : mean > most[0] ? most[0] : mean;
    const double largest = most[0] > -least[0] ? most[0] : -least[0];
    int exponent;
    frexp(largest, &exponent);
    exponent = exponent < RW_LEAST_EXPONENT ? RW_LEAST_EXPONENT : exponent;
    const double unit = ldexp(1.0, -exponent);
    for (int64_t row = 0; row < n; row += RW_BLOCK) {
        const int64_t size = rw_block(x + row, y + row, n - row, d);
        for (int64_t at = 0; at < size; at++) {
            const double deviation = (d[at] - mean) * unit;
            square[at] = deviation * deviation;
            d[at] = square[at] * deviation;
        }
        rw_add(square, size, squares);
        rw_add(d, size, cubes);
    }
    const double numbers[] = {(double)wins, (double)losses, (double)not_zero, mean, least[0],
                              most[0], exponent, rw_total(squares), rw_total(cubes)};
    memcpy(found, numbers, sizeof numbers);
}

RW_API void rw_differences(const double *const *columns, int64_t n, const int64_t *pairs,
                           const double *means, int64_t first, int64_t stop, double *found) {
    for (int64_t pair = first; pair < stop; pair++)
        rw_moments(columns[pairs[2 * pair]], columns[pairs[2 * pair + 1]], n, means[pair],
                   found + 9 * pair);
}

/* Count the differences x - y, which lie between low and high, in bins of one width, and add them up:
   cells[2 * bin] is the number, the next one the sum in the order of the rows. Zeros are counted apart. */
RW_WIDE RW_API void rw_bins(const double *x, const double *y, int64_t n, int64_t bins, double low, double high,
                            double *cells) {
    double d[RW_BLOCK], some[RW_BLOCK];
    int32_t bin[RW_BLOCK];
    int64_t zeros = 0;
    const double width = (high - low) / (double)bins;
    for (int64_t row = 0; row < n; row += RW_BLOCK) {
        const int64_t size = rw_block(x + row, y + row, n - row, d);
        int64_t kept = 0;
        for (int64_t at = 0; at < size; at++) {
            some[kept] = d[at];
            kept += d[at] != 0.0;
        }
        zeros += size - kept;
        for (int64_t at = 0; at < kept; at++) {
            const int32_t place = width > 0.0 ? (int32_t)((some[at] - low) / width) : 0;
            bin[at] = place < bins ? place : (int32_t)bins - 1;
        }
        for (int64_t at = 0; at < kept; at++) {
            double *cell = cells + 2 * bin[at];
            cell[0] += 1.0;
            cell[1] += some[at];
        }
    }
    if (zeros) {
        const int64_t place = width > 0.0 ? (int64_t)((0.0 - low) / width) : 0;
        cells[2 * (place < bins ? place : bins - 1)] += (double)zeros;
    }
}

/* Return the logarithm of a sum 1 + u, from a series in t = u / (2 + u), or of the mantissa between the roots of 1/2
   and of 2. */
static inline double rw_log(double sum, double u) {
    uint64_t bits, shifted;
    memcpy(&bits, &sum, sizeof bits);
    shifted = ((bits + UINT64_C(0x95f619980c433)) >> 52) | UINT64_C(0x4330000000000000);
    double exponent, mantissa;
    memcpy(&exponent, &shifted, sizeof exponent);
    exponent -= 4503599627370496.0 + 1023.0;
    bits -= ((shifted & 0x7ff) - 1023) << 52;
    memcpy(&mantissa, &bits, sizeof mantissa);
    const double above = exponent != 0.0 ? mantissa - 1.0 : u;
    const double t = above / (2.0 + above), square = t * t;
    double series = 1.0 / 23.0;
    for (int odd = 21; odd > 0; odd -= 2)
        series = series * square + 1.0 / (double)odd;
    return exponent * 0.6931471805599453 + 2.0 * t * series;
}

static inline double rw_log1p(double u) {
    return rw_log(1.0 + u, u);
}

/* Add up, over numbers x that count so often each, the terms x / (1 - s x), their squares and their cubes. */
static inline void rw_terms(const double *x, const double *count, int64_t n, double s, double *sums) {
    double lanes[3][RW_LANES] = {{0.0}};
    for (int64_t row = 0; row < n; row += RW_BLOCK) {
        const int64_t stop = n < row + RW_BLOCK ? n : row + RW_BLOCK;
        double some[3][RW_LANES] = {{0.0}};
        for (int64_t at = row; at < stop; at += RW_LANES)
            for (int lane = 0; lane < RW_LANES; lane++) {
                const double term = x[at + lane] / (1.0 - s * x[at + lane]);
                const double once = count[at + lane] * term, twice = once * term;
                some[0][lane] += once;
                some[1][lane] += twice;
                some[2][lane] += twice * term;
            }
        for (int power = 0; power < 3; power++)
            for (int lane = 0; lane < RW_LANES; lane++)
                lanes[power][lane] += some[power][lane];
    }
    for (int power = 0; power < 3; power++)
        sums[power] = rw_total(lanes[power]);
}

/* Add up log(1 - s x) over numbers x that count so often each. */
static inline double rw_logs(const double *x, const double *count, int64_t n, double s) {
    double lanes[RW_LANES] = {0.0}, logs[RW_BLOCK];
    for (int64_t row = 0; row < n; row += RW_BLOCK) {
        const int64_t size = n - row < RW_BLOCK ? n - row : RW_BLOCK;
        for (int64_t at = 0; at < size; at++)
            logs[at] = count[row + at] * rw_log1p(-s * x[row + at]);
        rw_add(logs, size, lanes);
    }
    return rw_total(lanes);
}

/* Find the saddle point s, near `start`, of K(s) = -sum log(1 - s x) over numbers x of both signs between -1 and 1
   that count so often each: Newton's steps, which bisection keeps inside. n is a whole number of lanes; numbers that
   count 0 times fill them up. Writes s, the second and half the third derivative of K there, and -K(s). */
RW_WIDE RW_API void rw_saddle(const double *x, const double *count, int64_t n, double start, double *found) {
    double least = x[0], most = x[0], sums[3] = {0.0};
    for (int64_t at = 1; at < n; at++) {
        least = x[at] < least ? x[at] : least;
        most = x[at] > most ? x[at] : most;
    }
    double low = 1.0 / least, high = 1.0 / most, s = low < start && start < high ? start : 0.0;
    for (int turn = 0; turn < 200; turn++) {
        rw_terms(x, count, n, s, sums);
        if (fabs(sums[0]) <= RW_CLOSE * sqrt(sums[1]))
            break;
        if (sums[0] > 0.0)
            high = s;
        else
            low = s;
        const double step = s - sums[0] / sums[1];
        s = low < step && step < high ? step : (low + high) / 2.0;
    }
    const double numbers[] = {s, sums[1], sums[2], rw_logs(x, count, n, s)};
    memcpy(found, numbers, sizeof numbers);
}

/* Find the saddle points of the rows of pairs, each as `rw_saddle` finds one from 0: 4 numbers of each pair. Rows
   whose numbers are not of both signs have NaN. */
RW_WIDE RW_API void rw_saddle_rows(const double *x, const double *counts, int64_t width, int64_t first, int64_t stop,
                                   double *found) {
    for (int64_t pair = first; pair < stop; pair++) {
        const double *row = x + width * pair;
        double least = 0.0, most = 0.0, *out = found + 4 * pair;
        for (int64_t at = 0; at < width; at++) {
            least = row[at] < least ? row[at] : least;
            most = row[at] > most ? row[at] : most;
        }
        if (least < 0.0 && most > 0.0)
            rw_saddle(row, counts + width * pair, width, 0.0, out);
        else
            out[0] = out[1] = out[2] = out[3] = NAN;
    }
}

/* Add up, over the rows of pairs and with s of each, the terms, their squares, their cubes and log(1 - s x): 4 numbers
   of each pair, for numbers and counts as `rw_saddle` has them. */
RW_WIDE RW_API void rw_losses(const double *x, const double *counts, int64_t width, const double *s, int64_t first,
                            int64_t stop, double *found) {
    for (int64_t pair = first; pair < stop; pair++) {
        const double *row = x + width * pair, *count = counts + width * pair;
        rw_terms(row, count, width, s[pair], found + 4 * pair);
        found[4 * pair + 3] = rw_logs(row, count, width, s[pair]);
    }
}

/* Find the saddle point of the differences x - y of pairs of columns, those of x before those of y, each in a bin
   with others (`rw_bins`) and turned round where signs[pair] is -1, and of a number more: `largest`, or the largest
   difference if that is larger. `limits` are the smallest and the largest difference of each pair; `found` has 4
   numbers of each, as in `rw_saddle`, or NaN where none is below 0 or all are in one bin. `coarse` has, for each
   pair, the counts and the sums of `wide` bins, each of several of the others and none turned round. There is room
   for 4 * bins + 2 * RW_LANES numbers. */
RW_API void rw_saddles(const double *const *columns, int64_t n, int64_t pairs, const double *limits,
                       const double *signs, double largest, int64_t bins, int64_t wide, int64_t first,
                       int64_t stop, double *room, double *found, double *coarse) {
    double *values = room + 2 * bins, *count = values + bins + RW_LANES;
    for (int64_t pair = first; pair < stop; pair++) {
        const double low = limits[2 * pair], high = limits[2 * pair + 1], sign = signs[pair];
        double most = largest, greatest, *out = found + 4 * pair;
        int64_t kept = 0;
        memset(room, 0, 2 * (size_t)bins * sizeof *room);
        rw_bins(columns[pair], columns[pairs + pair], n, bins, low, high, room);
        for (int64_t at = 0; at < bins; at++) {
            double *cell = coarse + 2 * (wide * pair + at / (bins / wide));
            cell[0] += room[2 * at];
            cell[1] += room[2 * at + 1];
        }
        for (int64_t at = 0; at < bins; at++) {
            const double *cell = room + 2 * (sign > 0.0 ? at : bins - 1 - at);
            if (cell[0] > 0.0) {
                const double mean = cell[1] / cell[0];
                values[kept] = sign * (mean < low ? low : mean > high ? high : mean);
                count[kept++] = cell[0];
            }
        }
        if (kept < 2 || !(values[0] < 0.0)) { /* in ascending order */
            out[0] = out[1] = out[2] = out[3] = NAN;
            continue;
        }
        most = values[kept - 1] > most ? values[kept - 1] : most;
        values[kept] = most;
        count[kept++] = 1.0;
        greatest = most > -values[0] ? most : -values[0];
        for (int64_t at = 0; at < kept; at++)
            values[at] /= greatest;
        for (; kept % RW_LANES; kept++)
            values[kept] = count[kept] = 0.0;
        rw_saddle(values, count, kept, 0.0, out);
    }
}

/* Weigh distances of pairs, a row of `width` of each, by 1 / (offset + distance). `found` has 3 numbers of each pair:
   the mean of weighted distances, the sum of the logarithms of mean over own weight, and the sum of squares of the
   weighted deviations from that mean. `width` is a whole number of lanes; distances that count 0 times fill them up. */
RW_WIDE RW_API void rw_weights(const double *distances, const double *counts, int64_t width, const double *offsets,
                               int64_t first, int64_t stop, double *found) {
    for (int64_t pair = first; pair < stop; pair++) {
        const double *z = distances + width * pair, *count = counts + width * pair, offset = offsets[pair];
        double lanes[3][RW_LANES] = {{0.0}}, some[3][RW_BLOCK];
        for (int64_t row = 0; row < width; row += RW_BLOCK) {
            const int64_t size = width - row < RW_BLOCK ? width - row : RW_BLOCK;
            for (int64_t at = 0; at < size; at++) {
                some[0][at] = count[row + at];
                some[1][at] = count[row + at] / (offset + z[row + at]);
                some[2][at] = some[1][at] * z[row + at];
            }
            for (int sum = 0; sum < 3; sum++)
                rw_add(some[sum], size, lanes[sum]);
        }
        const double weight = rw_total(lanes[1]), level = weight / rw_total(lanes[0]);
        const double mean = rw_total(lanes[2]) / weight;
        memset(lanes, 0, sizeof lanes);
        for (int64_t row = 0; row < width; row += RW_BLOCK) {
            const int64_t size = width - row < RW_BLOCK ? width - row : RW_BLOCK;
            for (int64_t at = 0; at < size; at++) {
                const double ratio = level * (offset + z[row + at]), beyond = level * (z[row + at] - mean);
                const double apart = (mean - z[row + at]) / (offset + z[row + at]);
                some[0][at] = count[row + at] * (ratio < 0.5 ? rw_log(ratio, ratio - 1.0) : rw_log1p(beyond));
                some[1][at] = count[row + at] * apart * apart;
            }
            rw_add(some[0], size, lanes[0]);
            rw_add(some[1], size, lanes[1]);
        }
        found[3 * pair] = mean;
        found[3 * pair + 1] = rw_total(lanes[0]);
        found[3 * pair + 2] = rw_total(lanes[1]);
    }
}

/* Sort keys, without regard to their RW_MARK lowest bits, a digit at a time; `room` has room for them. */
#define RW_MARK 12
#define RW_DIGIT 11
#define RW_DIGITS 5
RW_API void rw_sort_keys(uint64_t *keys, int64_t n, uint64_t *room) {
    static const uint64_t last = (1 << RW_DIGIT) - 1;
    int64_t counts[RW_DIGITS][1 << RW_DIGIT] = {{0}};
    for (int64_t at = 0; at < n; at++)
        for (int digit = 0; digit < RW_DIGITS; digit++)
            counts[digit][keys[at] >> (RW_MARK + digit * RW_DIGIT) & last]++;
    uint64_t *from = keys, *to = room;
    for (int digit = 0; digit < RW_DIGITS && n; digit++) {
        const int shift = RW_MARK + digit * RW_DIGIT;
        int64_t *next = counts[digit], before = 0;
        if (next[from[0] >> shift & last] == n)
            continue; /* all keys have the same digit */
        for (uint64_t value = 0; value <= last; value++) {
            const int64_t count = next[value];
            next[value] = before;
            before += count;
        }
        for (int64_t at = 0; at < n; at++)
            to[next[from[at] >> shift & last]++] = from[at];
        uint64_t *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != keys)
        memcpy(keys, from, (size_t)n * sizeof *keys);
}

static inline void rw_add_below(int64_t *restrict row, const int64_t *restrict below,
                                const int64_t *restrict equal, int64_t times, int64_t k) {
    for (int64_t column = 0; column < k; column++)
        row[column] += times * (2 * below[column] + equal[column]);
}

/* Return how many values a key stands for: that of 0, for zeros[column]. */
static inline int64_t rw_times(uint64_t key, const int64_t *zeros) {
    return key >> RW_MARK == UINT64_C(1) << (63 - RW_MARK) ? zeros[key & ((1 << RW_MARK) - 1)] : 1;
}

/* Add to above[x * k + y], for any two of k columns, over all values of x how many of y are below, twice,
   and how many are equal. Sorted keys have the number of their column in their lowest bits; values are
   equal whose other bits are the same, or neighbours. The key of 0 stands for zeros[column] of them.
   `known` has room for 2 * k counts, which are 0. */
RW_WIDE RW_API void rw_above(const uint64_t *keys, int64_t n, const int64_t *zeros, int64_t k, int64_t *known,
                             int64_t *above) {
    static const uint64_t mark = (1 << RW_MARK) - 1;
    int64_t *below = known, *equal = known + k;
    for (int64_t at = 0, end; at < n; at = end) {
        end = at + 1;
        while (end < n && (keys[end] >> RW_MARK) - (keys[end - 1] >> RW_MARK) <= 1)
            end++;
        for (int64_t row = at; row < end; row++)
            equal[keys[row] & mark] += rw_times(keys[row], zeros);
        if (end - at < k)
            for (int64_t row = at; row < end; row++)
                rw_add_below(above + (int64_t)(keys[row] & mark) * k, below, equal, rw_times(keys[row], zeros), k);
        else
            for (int64_t column = 0; column < k; column++)
                if (equal[column])
                    rw_add_below(above + column * k, below, equal, equal[column], k);
        for (int64_t row = at; row < end; row++) {
            const uint64_t column = keys[row] & mark;
            below[column] += equal[column];
            equal[column] = 0;
        }
    }
}

/* Return a whole number that falls as a score rises: larger scores have smaller keys, and -0 that of 0. */
static inline uint64_t rw_falling(double score) {
    const double zero_is_one_number = score + 0.0;
    uint64_t bits;
    memcpy(&bits, &zero_is_one_number, sizeof bits);
    return bits >> 63 ? bits : ~(bits | UINT64_C(1) << 63);
}

/* Keep the k smallest keys seen so far, ascending, in `best`; of `kept` there are so many. */
static inline int64_t rw_keep(uint64_t *best, int64_t kept, int64_t k, uint64_t key) {
    if (kept == k) {
        if (key >= best[k - 1])
            return kept;
        kept--;
    }
    int64_t at = kept;
    for (; at > 0 && best[at - 1] > key; at--)
        best[at] = best[at - 1];
    best[at] = key;
    return kept + 1;
}

/* Sort rows by key, rows of equal keys as they are: runs of RW_RUN by insertion, then by merging. */
#define RW_RUN 16
static void rw_sort_rows(uint64_t *keys, int64_t *rows, int64_t n, uint64_t *key_room, int64_t *row_room) {
    for (int64_t first = 0; first < n; first += RW_RUN) {
        const int64_t stop = first + RW_RUN < n ? first + RW_RUN : n;
        for (int64_t at = first + 1; at < stop; at++) {
            const uint64_t key = keys[at];
            const int64_t row = rows[at];
            int64_t to = at;
            for (; to > first && keys[to - 1] > key; to--) {
                keys[to] = keys[to - 1];
                rows[to] = rows[to - 1];
            }
            keys[to] = key;
            rows[to] = row;
        }
    }
    uint64_t *from = keys, *to = key_room;
    int64_t *row_from = rows, *row_to = row_room;
    for (int64_t width = RW_RUN; width < n; width *= 2) {
        for (int64_t first = 0; first < n; first += 2 * width) {
            const int64_t middle = first + width < n ? first + width : n;
            const int64_t stop = first + 2 * width < n ? first + 2 * width : n;
            int64_t left = first, right = middle;
            for (int64_t at = first; at < stop; at++) {
                const int is_left = left < middle && (right == stop || from[left] <= from[right]);
                const int64_t source = is_left ? left++ : right++;
                to[at] = from[source];
                row_to[at] = row_from[source];
            }
        }
        uint64_t *keys_sorted = to;
        int64_t *rows_sorted = row_to;
        to = from, row_to = row_from;
        from = keys_sorted, row_from = rows_sorted;
    }
    if (from != keys) {
        memcpy(keys, from, (size_t)n * sizeof *keys);
        memcpy(rows, row_from, (size_t)n * sizeof *rows);
    }
}

/* Rank the rows of groups `first` to `stop` by falling score, rows of equal scores as they come, and write
   those that are wanted: in order of group and rank, the row, its group, its rank, and the first and the
   last rank of the rows with its score. Rows whose first rank is below `deepest` are left out, and what
   ranks below is not ordered. Returns how many rows were written; *n_tied has how many of all rows that
   were looked at share their score.

   The keys and rows of the longest group have twice their room. */
#define RW_SHALLOW 64
RW_API int64_t rw_rank_rows(const double *scores, const int64_t *starts, const uint8_t *wanted, int64_t deepest,
                            int64_t first, int64_t stop, int64_t longest, uint64_t *keys, int64_t *rows,
                            int64_t *out_rows, int64_t *out_groups, int64_t *out_ranks, int64_t *out_first,
                            int64_t *out_last, int64_t *n_tied) {
    int64_t written = 0, tied = 0;
    for (int64_t group = first; group < stop; group++) {
        const int64_t begin = starts[group], n = starts[group + 1] - begin;
        int64_t n_kept = n;
        for (int64_t at = 0; at < n; at++)
            keys[at] = rw_falling(scores[begin + at]);
        if (deepest < n && deepest <= RW_SHALLOW) {
            uint64_t best[RW_SHALLOW];
            int64_t kept = 0;
            for (int64_t at = 0; at < n; at++)
                kept = rw_keep(best, kept, deepest, keys[at]);
            n_kept = 0;
            for (int64_t at = 0; at < n; at++)
                if (keys[at] <= best[deepest - 1]) {
                    keys[n_kept] = keys[at];
                    rows[n_kept++] = begin + at;
                }
        } else {
            for (int64_t at = 0; at < n; at++)
                rows[at] = begin + at;
        }
        rw_sort_rows(keys, rows, n_kept, keys + longest, rows + longest);

        for (int64_t head = 0, end; head < n_kept && head < deepest; head = end) {
            end = head + 1;
            while (end < n_kept && keys[end] == keys[head])
                end++;
            tied += end - head > 1 ? end - head : 0;
            for (int64_t at = head; at < end; at++) {
                if (!wanted[rows[at]])
                    continue;
                out_rows[written] = rows[at];
                out_groups[written] = group;
                out_ranks[written] = at + 1;
                out_first[written] = head + 1;
                out_last[written++] = end;
            }
        }
    }
    *n_tied = tied;
    return written;
}
