#pragma once

// SQLite keeps decrypted pages in memory and returns them without a call to the database file. A transaction
// that has begun can therefore read them after its key was revoked, and so can a backup, which runs no
// statement that could be stopped. This page cache wraps SQLite's own and returns no page of a database
// whose key was revoked; SQLite then fails as it does when memory runs short.
//
// Reading a page again costs such a database a decryption. SQLite's own cache drops the page that was
// released first, so this one keeps pages that were used again when others are read once.

// The state that all page caches of one key share.
typedef struct coffer_page_owner coffer_page_owner;

// Creates an owner with one reference. Returns null if no memory is available.
coffer_page_owner *coffer_page_owner_create(void);

// Makes the owner's page caches return no further page. Any thread may call this at any time.
void coffer_page_owner_revoke(coffer_page_owner *owner);

// What `coffer_page_owner_progress` needs. `interrupts` is called with `context` once the key was revoked.
typedef struct {
    const coffer_page_owner *owner;
    int (*interrupts)(void *context);
    void *context;
} coffer_page_owner_check;

// A handler for `sqlite3_progress_handler`, whose argument is a `coffer_page_owner_check`. SQLite calls it
// after every few operations, so it is a single load while the key is there.
int coffer_page_owner_progress(void *check);

// Releases the creator's reference. Each page cache keeps the owner until SQLite destroys the cache.
void coffer_page_owner_release(coffer_page_owner *owner);

// Assigns the next page cache that SQLite creates on this thread to `owner`, or to nobody if it is null.
// SQLite creates the page cache of a database immediately after it has opened the database file.
void coffer_page_cache_expect(coffer_page_owner *owner);

// Returns whether a page was refused in the last `limit` seconds. SQLite reports a refused page as a
// shortage of memory.
int coffer_page_cache_refused_within(int limit);

// Returns whether SQLite uses this page cache. It does unless the program set another one, or initialised
// SQLite before the dynamic linker loaded this library.
int coffer_page_cache_is_in_use(void);
