// Package files reads the files of an upload: a multipart form, or one raw file. It limits their
// number, size and memory, and skips lockfiles that cannot be read.
package files
