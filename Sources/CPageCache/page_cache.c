#include "CPageCache.h"
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct coffer_page_owner {
    atomic_int references;
    atomic_int revoked;
};

// A released page that was used again is kept: SQLite's own cache takes it to be in use. The number of pages
// in memory stays the same. SQLite asks for `extra` bytes for each page; a node lies behind them.
typedef struct node {
    struct node *newer, *older;
    sqlite3_pcache_page *page;
    unsigned key;
    // Whether SQLite fetched the page again after it was read, and whether it is released and kept.
    unsigned char again, kept;
} node;

// The page cache as SQLite sees it.
typedef struct {
    sqlite3_pcache *inner;
    coffer_page_owner *owner;
    // The offset of the node in the bytes that SQLite has for a page.
    size_t place;
    int purgeable;
    // The ring of the kept pages; the oldest follows it. Then how many there are and at most may be.
    node ring;
    int kept, limit;
    // No page in the cache has a greater number.
    unsigned highest;
} cache;

// The number of pages in the smallest cache that keeps pages. SQLite uses several at once.
enum { least_cache = 64 };

// SQLite's own methods, which do the work.
static sqlite3_pcache_methods2 own;

// Whether SQLite was initialised with the methods below.
static atomic_int in_use;

// Seconds since boot at the last page that was refused; -1 for none.
static atomic_llong refused = -1;

static _Thread_local coffer_page_owner *expected;

// A change of the page size creates a cache, sets its size and destroys the one before it, with nothing else
// in between: the new cache is then the same database's.
static _Thread_local cache *newest;
static _Thread_local int steps;

coffer_page_owner *coffer_page_owner_create(void) {
    coffer_page_owner *owner = malloc(sizeof *owner);
    if (owner == NULL) return NULL;
    atomic_init(&owner->references, 1);
    atomic_init(&owner->revoked, 0);
    return owner;
}

void coffer_page_owner_revoke(coffer_page_owner *owner) {
    atomic_store_explicit(&owner->revoked, 1, memory_order_release);
}

static int is_revoked(const coffer_page_owner *owner) {
    return atomic_load_explicit(&owner->revoked, memory_order_acquire);
}

int coffer_page_owner_progress(void *argument) {
    const coffer_page_owner_check *check = argument;
    return is_revoked(check->owner) && check->interrupts(check->context);
}

static coffer_page_owner *retain(coffer_page_owner *owner) {
    if (owner != NULL) atomic_fetch_add_explicit(&owner->references, 1, memory_order_relaxed);
    return owner;
}

void coffer_page_owner_release(coffer_page_owner *owner) {
    if (owner == NULL) return;
    if (atomic_fetch_sub_explicit(&owner->references, 1, memory_order_acq_rel) == 1) free(owner);
}

void coffer_page_cache_expect(coffer_page_owner *owner) { expected = owner; }

static long long seconds(void) {
    struct timespec now;
    return clock_gettime(CLOCK_MONOTONIC, &now) == 0 ? (long long)now.tv_sec : 0;
}

static int start(void *unused) {
    (void)unused;
    atomic_store(&in_use, 1);
    return own.xInit == NULL ? SQLITE_OK : own.xInit(own.pArg);
}

static void end(void *unused) {
    (void)unused;
    if (own.xShutdown != NULL) own.xShutdown(own.pArg);
}

static sqlite3_pcache *create(int size, int extra, int purgeable) {
    cache *made = malloc(sizeof *made);
    if (made == NULL) return NULL;
    made->place = ((size_t)extra + _Alignof(node) - 1) & ~(_Alignof(node) - 1);
    made->inner = own.xCreate(size, (int)(made->place + sizeof(node)), purgeable);
    if (made->inner == NULL) {
        free(made);
        return NULL;
    }
    made->purgeable = purgeable;
    made->ring.newer = made->ring.older = &made->ring;
    made->kept = made->limit = 0;
    made->highest = 0;
    made->owner = retain(expected);
    expected = NULL;
    newest = made;
    steps = 0;
    return (sqlite3_pcache *)made;
}

static node *node_of(const cache *known, sqlite3_pcache_page *page) {
    return (node *)((char *)page->pExtra + known->place);
}

// Keeps a page that SQLite releases.
static void keep(cache *known, node *found) {
    found->older = known->ring.older;
    found->newer = &known->ring;
    found->older->newer = found;
    known->ring.older = found;
    found->kept = 1;
    known->kept += 1;
}

// Takes a page from the kept ones, which is in use again.
static void take(cache *known, node *found) {
    found->newer->older = found->older;
    found->older->newer = found->newer;
    found->kept = 0;
    known->kept -= 1;
}

// Leaves a kept page to SQLite's own cache.
static void leave(cache *known, node *found) {
    take(known, found);
    own.xUnpin(known->inner, found->page, 0);
}

// Leaves the oldest of the kept pages to SQLite's own cache, until `count` pages are kept.
static void leave_until(cache *known, int count) {
    while (known->kept > count) leave(known, known->ring.newer);
}

static void set_size(sqlite3_pcache *object, int count) {
    cache *known = (cache *)object;
    if (newest == known && steps == 0) {
        steps = 1;
    } else {
        newest = NULL;
    }
    known->limit = known->purgeable && count >= least_cache ? count / 4 * 3 : 0;
    leave_until(known, known->limit);
    own.xCachesize(known->inner, count);
}

static int count(sqlite3_pcache *object) { return own.xPagecount(((cache *)object)->inner); }

static sqlite3_pcache_page *fetch(sqlite3_pcache *object, unsigned key, int create_flag) {
    cache *known = (cache *)object;
    newest = NULL;
    // SQLite reads pages with a flag. Without one, it looks for a page that may be in use, and frees what it
    // takes to be missing.
    if (create_flag != 0 && known->owner != NULL && is_revoked(known->owner)) {
        atomic_store_explicit(&refused, seconds(), memory_order_release);
        return NULL;
    }
    sqlite3_pcache_page *page = own.xFetch(known->inner, key, create_flag);
    if (known->owner == NULL) return page;
    if (page == NULL && create_flag != 0 && known->kept > 0) {
        // There is no room for another page, which the kept ones may be the reason of.
        leave_until(known, 0);
        page = own.xFetch(known->inner, key, create_flag);
    }
    if (page == NULL) return NULL;
    node *found = node_of(known, page);
    // SQLite requires that the first word of a page's extra bytes is zero until SQLite has used the page.
    if (*(void **)page->pExtra == NULL) {
        found->again = found->kept = 0;
        found->page = page;
        found->key = key;
        if (key > known->highest) known->highest = key;
    } else {
        found->again = 1;
        if (found->kept) take(known, found);
    }
    return page;
}

static void unpin(sqlite3_pcache *object, sqlite3_pcache_page *page, int discard) {
    cache *known = (cache *)object;
    if (known->owner == NULL || discard || known->limit == 0 || !node_of(known, page)->again) {
        own.xUnpin(known->inner, page, discard);
        return;
    }
    keep(known, node_of(known, page));
    leave_until(known, known->limit);
}

static void rekey(sqlite3_pcache *object, sqlite3_pcache_page *page, unsigned old_key, unsigned new_key) {
    cache *known = (cache *)object;
    if (known->owner != NULL) {
        node_of(known, page)->key = new_key;
        if (new_key > known->highest) known->highest = new_key;
    }
    own.xRekey(known->inner, page, old_key, new_key);
}

static void truncate_to(sqlite3_pcache *object, unsigned limit) {
    cache *known = (cache *)object;
    if (limit <= known->highest) {
        for (node *next, *found = known->ring.newer; found != &known->ring; found = next) {
            next = found->newer;
            if (found->key >= limit) leave(known, found);
        }
        known->highest = limit == 0 ? 0 : limit - 1;
    }
    own.xTruncate(known->inner, limit);
}

static void shrink(sqlite3_pcache *object) {
    cache *known = (cache *)object;
    leave_until(known, 0);
    if (own.xShrink != NULL) own.xShrink(known->inner);
}

static void destroy(sqlite3_pcache *object) {
    cache *known = (cache *)object;
    if (newest != NULL && newest != known && steps == 1 && newest->owner == NULL) {
        newest->owner = retain(known->owner);
    }
    newest = NULL;
    own.xDestroy(known->inner);
    coffer_page_owner_release(known->owner);
    free(known);
}

static sqlite3_pcache_methods2 wrapped = {
    .iVersion = 1,
    .xInit = start,
    .xShutdown = end,
    .xCreate = create,
    .xCachesize = set_size,
    .xPagecount = count,
    .xFetch = fetch,
    .xUnpin = unpin,
    .xRekey = rekey,
    .xTruncate = truncate_to,
    .xDestroy = destroy,
    .xShrink = shrink,
};

// SQLite takes a page cache only before it is initialised, and a program may use it before it uses this
// library.
__attribute__((constructor)) static void install(void) {
    if (sqlite3_config(SQLITE_CONFIG_GETPCACHE2, &own) != SQLITE_OK) return;
    if (own.xCreate == create) return;
    (void)sqlite3_config(SQLITE_CONFIG_PCACHE2, &wrapped);
}

int coffer_page_cache_refused_within(int limit) {
    long long last = atomic_load_explicit(&refused, memory_order_acquire);
    return last >= 0 && seconds() - last <= limit;
}

int coffer_page_cache_is_in_use(void) { return atomic_load(&in_use); }
