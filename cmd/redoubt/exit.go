package main

import "fmt"

// exitError ends the program with a code, once all is said.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }
