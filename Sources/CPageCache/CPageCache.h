#pragma once

// SQLite keeps decrypted pages in memory and returns them without a call to the file below. A transaction that
// has begun reads them after its key is gone, and so does a backup, which runs no statement that could be
// stopped. This page cache wraps SQLite's own and returns no page of a database whose key was revoked: SQLite
// then fails as it does when memory is short.

// What the page caches of one key share.
typedef struct coffer_page_owner coffer_page_owner;

// Creates an owner with one reference; null when there is no memory.
coffer_page_owner *coffer_page_owner_create(void);

// From now on the caches of the owner return no page. Any thread may call this at any time.
void coffer_page_owner_revoke(coffer_page_owner *owner);

// Releases the creator's reference; caches keep the owner until they are gone.
void coffer_page_owner_release(coffer_page_owner *owner);

// The next page cache that SQLite creates on this thread belongs to `owner`; null for none. SQLite creates the
// cache of a database directly after it opened the database's file.
void coffer_page_cache_expect(coffer_page_owner *owner);

// Whether a page was refused in the last `limit` seconds. SQLite reports a refused page as a shortage of memory.
int coffer_page_cache_refused_within(int limit);

// Whether SQLite uses this page cache: it does unless the program set another one, or initialised SQLite before
// this library was loaded.
int coffer_page_cache_is_in_use(void);
