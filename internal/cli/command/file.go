package command

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// ReplaceFile atomically replaces a file. Only its owner can read it.
func ReplaceFile(name string, text []byte) error {
	return ReplaceFileWith(name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// ReplaceFileWith is ReplaceFile with the output of write.
func ReplaceFileWith(name string, write func(io.Writer) error) error {
	part, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.part")
	if err != nil {
		return err
	}
	err = write(part)
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return nil
}
