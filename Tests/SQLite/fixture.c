/* Has SQLite's testfixture open every database through Coffer's VFS, over the VFS that the test asked for:
** what a test puts between SQLite and the disk (crashes, errors, counters) lies below the encryption.
**
** COFFER_SUITE says what lies between: a codec's name; "pinned48" or "pinned80", which keep the geometry of a
** codec's pages and do not encrypt; nothing when it is not set. A shared library that testfixture is linked with
** by --wrap, so that the tests' own calls alone come here and SQLite's own do not.
*/
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sqlite3.h"

#define PAGE_SIZE 1024  /* The default of testfixture, which its tests count with. */

/* A VFS of ours over one of the tests'. */
typedef struct Layer {
  sqlite3_vfs vfs;
  char name[64];
  struct Layer *next;
} Layer;
static Layer *layers;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static char *token;            /* Coffer's token for the key of all databases. */
static sqlite3_vfs *coffer;    /* Coffer's VFS. */
static int reserve;            /* Of pages that are pinned and not encrypted. */
static int (*coffer_open)(sqlite3_vfs *, sqlite3_filename, sqlite3_file *, int, int *);

/* ------------------------------------------------------------------ Coffer, with the token that it wants */

/* Puts `text` with its zero at `at`, where there is room for it; the place behind it. */
static size_t put(char *to, size_t at, const char *text){
  size_t size = strlen(text) + 1;
  if( to ) memcpy(to+at, text, size);
  return at + size;
}

/* Lays out a name for a VFS, as sqlite3_create_filename does, but in memory that no test makes scarce. */
static size_t lay_out(char *to, const char *name){
  size_t at = put(to, 4, name);
  const char *parameter;
  int i;
  for(i=0; (parameter = sqlite3_uri_key(name, i))!=0; i++){
    at = put(to, at, parameter);
    at = put(to, at, parameter + strlen(parameter) + 1);
  }
  at = put(to, put(to, at, "kref"), token);
  at = put(to, put(to, at + 1, sqlite3_filename_journal(name)), sqlite3_filename_wal(name));
  return at + 2;
}

/* The name as SQLite hands it over, with the token. Never freed: VFSs keep it as long as the file is open. */
static const char *with_token(const char *name){
  static struct Named { size_t size; char *text; struct Named *next; } *named;
  size_t size = lay_out(0, name);
  char *text = calloc(1, size);
  struct Named *entry;
  if( sqlite3_uri_parameter(name, "kref") ) return name;
  lay_out(text, name);
  pthread_mutex_lock(&mutex);
  for(entry=named; entry; entry=entry->next){
    if( entry->size==size && memcmp(entry->text, text, size)==0 ) break;
  }
  if( entry==0 ){
    entry = malloc(sizeof(*entry));
    *entry = (struct Named){ size, text, named };
    named = entry;
  }else{
    free(text);
  }
  pthread_mutex_unlock(&mutex);
  return entry->text + 4;
}

/* Coffer answers PRAGMA page_size=N, and others that set something, with a row where SQLite has none: tests
** compare rows. */
static int (*coffer_control)(sqlite3_file *, int, void *);
static int quiet_control(sqlite3_file *file, int op, void *arg){
  int rc = coffer_control(file, op, arg);
  char **words = arg;
  if( op==SQLITE_FCNTL_PRAGMA && rc==SQLITE_OK && words[2] && sqlite3_stricmp(words[1], "mmap_size") ){
    sqlite3_free(words[0]);
    words[0] = 0;
  }
  return rc;
}

static int tokened_open(
  sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags, int *out
){
  int rc;
  if( name==0 || (flags & SQLITE_OPEN_MAIN_DB)==0 ) return coffer_open(vfs, name, file, flags, out);
  rc = coffer_open(vfs, with_token(name), file, flags, out);
  if( rc==SQLITE_OK && file->pMethods->xFileControl!=quiet_control ){
    coffer_control = file->pMethods->xFileControl;
    ((sqlite3_io_methods *)file->pMethods)->xFileControl = quiet_control;
  }
  return rc;
}

/* ------------------------------------------------------ The geometry of a codec's pages, without encryption */

typedef struct Pinned {
  sqlite3_file file;
  sqlite3_file lower[1];
} Pinned;
#define LOWER(F) (((Pinned *)(F))->lower)
#define CALL(F,M) (LOWER(F)->pMethods->M)

static int pinned_close(sqlite3_file *f){
  int rc = CALL(f,xClose)(LOWER(f));
  f->pMethods = 0;
  return rc;
}
static int pinned_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at){
  int rc = CALL(f,xRead)(LOWER(f), to, n, at);
  if( rc==SQLITE_IOERR_SHORT_READ && n==100 && at==0 ){
    static const unsigned char header[24] = {
      'S','Q','L','i','t','e',' ','f','o','r','m','a','t',' ','3',0, PAGE_SIZE>>8,0,1,1,0,64,32,32};
    memset(to, 0, n);
    memcpy(to, header, sizeof(header));
    ((unsigned char *)to)[20] = reserve;
  }
  return rc;
}
static int pinned_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at){
  const unsigned char *page = from;
  if( n!=PAGE_SIZE || at%PAGE_SIZE ) return SQLITE_IOERR;
  if( at==0 && page[0] && (page[16]!=PAGE_SIZE>>8 || page[17] || page[20]!=reserve) ) return SQLITE_READONLY;
  return CALL(f,xWrite)(LOWER(f), from, n, at);
}
static int pinned_truncate(sqlite3_file *f, sqlite3_int64 n){ return CALL(f,xTruncate)(LOWER(f), n); }
static int pinned_sync(sqlite3_file *f, int flags){ return CALL(f,xSync)(LOWER(f), flags); }
static int pinned_size(sqlite3_file *f, sqlite3_int64 *n){ return CALL(f,xFileSize)(LOWER(f), n); }
static int pinned_lock(sqlite3_file *f, int level){ return CALL(f,xLock)(LOWER(f), level); }
static int pinned_unlock(sqlite3_file *f, int level){ return CALL(f,xUnlock)(LOWER(f), level); }
static int pinned_reserved(sqlite3_file *f, int *r){ return CALL(f,xCheckReservedLock)(LOWER(f), r); }
static int pinned_control(sqlite3_file *f, int op, void *arg){
  switch( op ){
    case SQLITE_FCNTL_PRAGMA: {
      char **words = arg;
      if( sqlite3_stricmp(words[1], "page_size")==0 && words[2] ) return SQLITE_OK;
      if( sqlite3_stricmp(words[1], "mmap_size")==0 ){
        words[0] = sqlite3_mprintf("0");
        return SQLITE_OK;
      }
      break;
    }
    case SQLITE_FCNTL_MMAP_SIZE:
      *(sqlite3_int64 *)arg = 0;
      return SQLITE_OK;
    case SQLITE_FCNTL_BEGIN_ATOMIC_WRITE:
    case SQLITE_FCNTL_COMMIT_ATOMIC_WRITE:
    case SQLITE_FCNTL_ROLLBACK_ATOMIC_WRITE:
      return SQLITE_NOTFOUND;
  }
  return CALL(f,xFileControl)(LOWER(f), op, arg);
}
static int pinned_sector(sqlite3_file *f){ (void)f; return 512; }
static int pinned_character(sqlite3_file *f){ (void)f; return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }
static int pinned_shm_map(sqlite3_file *f, int i, int n, int extend, void volatile **p){
  if( LOWER(f)->pMethods->iVersion<2 || CALL(f,xShmMap)==0 ) return SQLITE_IOERR_SHMMAP;
  return CALL(f,xShmMap)(LOWER(f), i, n, extend, p);
}
static int pinned_shm_lock(sqlite3_file *f, int i, int n, int flags){
  return CALL(f,xShmLock)(LOWER(f), i, n, flags);
}
static void pinned_shm_barrier(sqlite3_file *f){ CALL(f,xShmBarrier)(LOWER(f)); }
static int pinned_shm_unmap(sqlite3_file *f, int del){
  return CALL(f,xShmUnmap) ? CALL(f,xShmUnmap)(LOWER(f), del) : SQLITE_OK;
}
static const sqlite3_io_methods pinned_methods = {
  2, pinned_close, pinned_read, pinned_write, pinned_truncate, pinned_sync, pinned_size, pinned_lock,
  pinned_unlock, pinned_reserved, pinned_control, pinned_sector, pinned_character, pinned_shm_map,
  pinned_shm_lock, pinned_shm_barrier, pinned_shm_unmap, 0, 0
};
static int pinned_open(
  sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags, int *out
){
  sqlite3_vfs *base = vfs->pAppData;
  int rc;
  if( name==0 || (flags & SQLITE_OPEN_MAIN_DB)==0 ) return base->xOpen(base, name, file, flags, out);
  file->pMethods = 0;
  LOWER(file)->pMethods = 0;
  rc = base->xOpen(base, name, LOWER(file), flags, out);
  if( LOWER(file)->pMethods==0 ) return rc;
  if( rc!=SQLITE_OK ) LOWER(file)->pMethods->xClose(LOWER(file));
  else file->pMethods = &pinned_methods;
  return rc;
}

#define BASE(V) ((sqlite3_vfs *)(V)->pAppData)
static int pinned_delete(sqlite3_vfs *v, const char *name, int sync){
  return BASE(v)->xDelete(BASE(v), name, sync);
}
static int pinned_access(sqlite3_vfs *v, const char *name, int flags, int *result){
  return BASE(v)->xAccess(BASE(v), name, flags, result);
}
static int pinned_full(sqlite3_vfs *v, const char *name, int n, char *to){
  return BASE(v)->xFullPathname(BASE(v), name, n, to);
}
static int pinned_random(sqlite3_vfs *v, int n, char *to){ return BASE(v)->xRandomness(BASE(v), n, to); }
static int pinned_sleep(sqlite3_vfs *v, int n){ return BASE(v)->xSleep(BASE(v), n); }
static int pinned_time(sqlite3_vfs *v, double *to){ return BASE(v)->xCurrentTime(BASE(v), to); }
static int pinned_error(sqlite3_vfs *v, int n, char *to){ return BASE(v)->xGetLastError(BASE(v), n, to); }

/* ---------------------------------------------------------------------------------------- The VFSs of ours */

static void die(const char *why, const char *what){
  fprintf(stderr, "fixture: %s: %s\n", why, what ? what : "");
  _exit(70);
}

static void *library;

/* Loads Coffer before anything uses SQLite, which takes Coffer's page cache only then. */
__attribute__((constructor)) static void load(void){
  const char *suite = getenv("COFFER_SUITE");
  int (*is_in_use)(void);
  if( suite==0 || suite[0]==0 || strncmp(suite, "pinned", 6)==0 ) return;
  library = dlopen(getenv("COFFER_SUITE_LIBRARY"), RTLD_NOW|RTLD_GLOBAL);
  if( library==0 ) die("the library does not load", dlerror());
  is_in_use = (int (*)(void))dlsym(library, "coffer_page_cache_is_in_use");
  sqlite3_initialize();
  if( is_in_use==0 || !is_in_use() ) die("SQLite does not use the page cache", suite);
  sqlite3_shutdown();
}

/* Takes the VFS of Coffer in, or the geometry of one of its codecs. */
static void take_in(const char *suite){
  char *(*make)(void);
  if( strncmp(suite, "pinned", 6)==0 ){
    reserve = atoi(suite+6);
    return;
  }
  make = (char *(*)(void))dlsym(library, "coffer_suite_token");
  if( make==0 || (token = make())==0 ) die("no key is registered", suite);
  coffer = sqlite3_vfs_find("coffer");
  if( coffer==0 ) die("the VFS is in another SQLite", "coffer");
  coffer_open = coffer->xOpen;
}

/* Whether something lies between the tests and their VFSs; made ready once. */
static int prepare(void){
  static int is_ready;
  const char *suite = getenv("COFFER_SUITE");
  if( suite==0 || suite[0]==0 ) return 0;
  pthread_mutex_lock(&mutex);
  if( !is_ready ) take_in(suite);
  is_ready = 1;
  pthread_mutex_unlock(&mutex);
  return 1;
}

/* What the VFS over `base` is to be. */
static sqlite3_vfs described(sqlite3_vfs *base, const char *name){
  sqlite3_vfs vfs;
  memset(&vfs, 0, sizeof(vfs));
  if( coffer ){
    vfs = *coffer;
    vfs.szOsFile = coffer->szOsFile - ((sqlite3_vfs *)coffer->pAppData)->szOsFile + base->szOsFile;
    vfs.xOpen = tokened_open;
    /* What the system's VFS has and a test's may not have. */
    if( base->iVersion<2 || base->xCurrentTimeInt64==0 ) vfs.xCurrentTimeInt64 = 0;
    if( base->xGetLastError==0 ) vfs.xGetLastError = 0;
  }else{
    vfs.iVersion = 1;
    vfs.szOsFile = sizeof(sqlite3_file) + base->szOsFile;
    vfs.xOpen = pinned_open;
    vfs.xDelete = pinned_delete;
    vfs.xAccess = pinned_access;
    vfs.xFullPathname = pinned_full;
    vfs.xRandomness = pinned_random;
    vfs.xSleep = pinned_sleep;
    vfs.xCurrentTime = pinned_time;
    if( base->xGetLastError ) vfs.xGetLastError = pinned_error;
  }
  vfs.mxPathname = base->mxPathname;
  vfs.zName = name;
  vfs.pAppData = base;
  return vfs;
}

/* Registers a VFS at the end, so that it is never the default when a test removes its own. */
static void put_last(sqlite3_vfs *vfs){
  sqlite3_vfs *last;
  sqlite3_vfs_register(vfs, 0);
  for(last=sqlite3_vfs_find(0); last->pNext!=vfs; last=last->pNext){}
  last->pNext = vfs->pNext;
  vfs->pNext = 0;
  for(last=sqlite3_vfs_find(0); last->pNext; last=last->pNext){}
  last->pNext = vfs;
}

/* The VFS over `base`, made or brought up to date. */
static sqlite3_vfs *over(sqlite3_vfs *base){
  Layer *layer;
  sqlite3_vfs wanted;
  pthread_mutex_lock(&mutex);
  /* By name: a test may make a VFS of the same name again. */
  for(layer=layers; layer && strcmp(layer->vfs.zName, base->zName); layer=layer->next){
    if( strcmp(layer->name+sizeof("coffer-over-")-1, base->zName)==0 ) break;
  }
  if( base->xOpen==tokened_open || base->xOpen==pinned_open ){
    pthread_mutex_unlock(&mutex);
    return base;
  }
  if( layer==0 ){
    layer = calloc(1, sizeof(*layer));
    layer->next = layers;
    layers = layer;
    snprintf(layer->name, sizeof(layer->name), "coffer-over-%s", base->zName);
  }
  wanted = described(base, layer->name);
  wanted.pNext = layer->vfs.pNext;
  if( memcmp(&wanted, &layer->vfs, sizeof(wanted)) ){
    if( layer->vfs.zName ) sqlite3_vfs_unregister(&layer->vfs);
    layer->vfs = wanted;
    layer->vfs.pNext = 0;
    put_last(&layer->vfs);
  }
  pthread_mutex_unlock(&mutex);
  return &layer->vfs;
}

int __wrap_sqlite3_open_v2(const char *name, sqlite3 **db, int flags, const char *vfs){
  sqlite3_vfs *base = 0;
  int rc;
  if( sqlite3_initialize()==SQLITE_OK && prepare() && (base = sqlite3_vfs_find(vfs))!=0 ){
    vfs = over(base)->zName;
  }
  rc = sqlite3_open_v2(name, db, flags, vfs);
  /* As Coffer has it: otherwise free pages are never written, and a page of zeros is not authentic. */
  if( rc==SQLITE_OK && base ) sqlite3_exec(*db, "PRAGMA secure_delete=ON", 0, 0, 0);
  return rc;
}
int __wrap_sqlite3_open(const char *name, sqlite3 **db){
  return __wrap_sqlite3_open_v2(name, db, SQLITE_OPEN_READWRITE|SQLITE_OPEN_CREATE, 0);
}
int __wrap_sqlite3_open16(const void *name, sqlite3 **db){
  sqlite3_vfs *base, *ours = 0;
  int rc;
  if( sqlite3_initialize()==SQLITE_OK && prepare() && (base = sqlite3_vfs_find(0))!=0 ){
    ours = over(base);
    sqlite3_vfs_register(ours, 1);
  }
  rc = sqlite3_open16(name, db);
  if( ours ){
    sqlite3_vfs_unregister(ours);
    put_last(ours);
  }
  return rc;
}
