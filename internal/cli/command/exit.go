package command

import "fmt"

// ExitError ends the program with an exit code and no message.
type ExitError struct{ Code int }

// Error implements error.
func (e *ExitError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }
