#include "CPageCache.h"
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct coffer_page_owner {
    atomic_int references;
    atomic_int revoked;
};

// The page cache as SQLite sees it.
typedef struct {
    sqlite3_pcache *inner;
    coffer_page_owner *owner;
} cache;

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
    made->inner = own.xCreate(size, extra, purgeable);
    if (made->inner == NULL) {
        free(made);
        return NULL;
    }
    made->owner = retain(expected);
    expected = NULL;
    newest = made;
    steps = 0;
    return (sqlite3_pcache *)made;
}

static void set_size(sqlite3_pcache *object, int count) {
    cache *known = (cache *)object;
    if (newest == known && steps == 0) {
        steps = 1;
    } else {
        newest = NULL;
    }
    own.xCachesize(known->inner, count);
}

static int count(sqlite3_pcache *object) { return own.xPagecount(((cache *)object)->inner); }

static sqlite3_pcache_page *fetch(sqlite3_pcache *object, unsigned key, int create_flag) {
    cache *known = (cache *)object;
    newest = NULL;
    if (known->owner != NULL && atomic_load_explicit(&known->owner->revoked, memory_order_acquire)) {
        atomic_store_explicit(&refused, seconds(), memory_order_release);
        return NULL;
    }
    return own.xFetch(known->inner, key, create_flag);
}

static void unpin(sqlite3_pcache *object, sqlite3_pcache_page *page, int discard) {
    own.xUnpin(((cache *)object)->inner, page, discard);
}

static void rekey(sqlite3_pcache *object, sqlite3_pcache_page *page, unsigned old_key, unsigned new_key) {
    own.xRekey(((cache *)object)->inner, page, old_key, new_key);
}

static void truncate_to(sqlite3_pcache *object, unsigned limit) {
    own.xTruncate(((cache *)object)->inner, limit);
}

static void shrink(sqlite3_pcache *object) {
    if (own.xShrink != NULL) own.xShrink(((cache *)object)->inner);
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
