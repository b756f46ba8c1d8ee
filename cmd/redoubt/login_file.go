package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// keptLogin is what redoubt login keeps. A token that was made by hand is there alone;
// one that a person let this program have is with what renews it.
type keptLogin struct {
	URL      string    `json:"url"`
	Token    string    `json:"token"`
	Refresh  string    `json:"refresh,omitempty"`
	ClientID string    `json:"client_id,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
}

// loginFile is the path of the login in the user's settings. Only the user can read it.
func loginFile() (string, error) {
	folder, err := os.UserConfigDir()
	return filepath.Join(folder, "redoubt", "login.json"), err
}

// readLogin reads what is kept; the zero one where nothing is.
func readLogin() (kept keptLogin, err error) {
	name, err := loginFile()
	if err != nil {
		return kept, nil //nolint:nilerr // a machine without such a folder keeps no login
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		return kept, fmt.Errorf("what redoubt login kept cannot be read; run redoubt logout, then redoubt login again: %w",
			err)
	}
	return kept, nil
}
