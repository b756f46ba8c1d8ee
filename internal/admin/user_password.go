package admin

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/cli/command"
)

// readNewPassword reads a new password and returns its hash. A terminal prompts twice without echo;
// otherwise it is the first line of standard input. A password is never an argument, as process
// lists expose those.
func readNewPassword(a *command.App, name string, about ...string) (string, error) {
	password, err := readPassword(a)
	if err != nil {
		return "", err
	}
	if err := auth.CheckPassword(password, name, about...); err != nil {
		return "", err
	}
	return auth.NewPasswords().Hash(a.Ctx, password)
}

func readPassword(a *command.App) (string, error) {
	in := int(os.Stdin.Fd())
	if !term.IsTerminal(in) {
		line, err := bufio.NewReader(io.LimitReader(os.Stdin, 1<<16)).ReadString('\n')
		if err != nil && (!errors.Is(err, io.EOF) || line == "") {
			return "", errors.New(
				"no password on standard input: write it as the first line, use a terminal, or use --link",
			)
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	fmt.Fprint(a.Err, "New password: ")
	first, err := term.ReadPassword(in)
	fmt.Fprint(a.Err, "\nConfirm password: ")
	if err != nil {
		return "", err
	}
	second, err := term.ReadPassword(in)
	fmt.Fprintln(a.Err)
	if err == nil && string(first) != string(second) {
		err = errors.New("the passwords do not match; nothing was changed")
	}
	return string(first), err
}
