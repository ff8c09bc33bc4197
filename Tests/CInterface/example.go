// Stores a token in a vault and reads it back, from Go by cgo.
//
//	go build example.go
//	./example HOME <passcode.txt
package main

/*
#cgo pkg-config: coffer
#include <coffer.h>
#include <stdlib.h>

static coffer_error new_error(void) {
    coffer_error error = COFFER_ERROR_INIT;
    return error;
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

// failure is an error of the library.
type failure struct {
	code    int
	message string
}

func (f failure) Error() string { return f.message }

// check returns nil for COFFER_OK, and otherwise the error that a function has described.
func check(code C.int, described *C.coffer_error) error {
	if code == C.COFFER_OK {
		return nil
	}
	return failure{int(code), C.GoString(&described.message[0])}
}

// use opens a vault with the passcode on standard input, stores a token and writes it to standard output.
func use(home string) error {
	place, service, account := C.CString(home), C.CString("s"), C.CString("go")
	for _, text := range []*C.char{place, service, account} {
		defer C.free(unsafe.Pointer(text))
	}
	described := C.new_error()
	var vault *C.coffer_vault
	if err := check(C.coffer_open(place, nil, &vault, &described), &described); err != nil {
		return err
	}
	defer C.coffer_close(vault)
	if err := check(C.coffer_unlock_fd(vault, 0, &described), &described); err != nil {
		return err
	}
	value := []byte("from Go")
	if err := check(C.coffer_token_put(vault, service, account, nil, (*C.uint8_t)(&value[0]),
		C.size_t(len(value)), nil, nil, &described), &described); err != nil {
		return err
	}
	var token *C.coffer_bytes
	if err := check(C.coffer_token_get(vault, service, account, nil, &token, &described), &described); err != nil {
		return err
	}
	defer C.coffer_bytes_free(token)
	// Handles are numbers that look like pointers: the garbage collector must not mind.
	runtime.GC()
	bytes := unsafe.Slice((*byte)(C.coffer_bytes_data(token)), int(C.coffer_bytes_length(token)))
	_, err := os.Stdout.Write(bytes)
	return err
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "Usage: example HOME <PASSCODE")
		os.Exit(64)
	}
	if err := use(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		if failed, ok := err.(failure); ok {
			os.Exit(failed.code)
		}
		os.Exit(1)
	}
}
