package command

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// ReplaceFile writes a new file, its owner's alone, and gives it the name.
func ReplaceFile(name string, text []byte) error {
	return ReplaceFileWith(name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// ReplaceFileWith does the same with what write writes.
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
