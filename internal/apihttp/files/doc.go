// Package files reads the files of an upload: a multipart form, or one raw file. It bounds their number, size and
// memory, and leaves out a lockfile that cannot be read.
package files
