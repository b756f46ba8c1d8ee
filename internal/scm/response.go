package scm

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// onlyGood returns an error if the name of a repository is invalid.
func onlyGood(base string, r model.Repository) (model.Repository, error) {
	r, fine := cleaned(base, r)
	if !fine {
		return r, fmt.Errorf("the host returned an invalid repository name: %w", model.ErrNotFound)
	}
	return r, nil
}

// commitID matches the id of a commit.
var commitID = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// sameRepository returns an error if a response is about another repository. A host that is queried
// by name may return another repository after a rename.
func sameRepository(r model.Repository, hostID int64) error {
	if strconv.FormatInt(hostID, 10) == r.HostID {
		return nil
	}
	return fmt.Errorf("the name %.200q now belongs to another repository at the host: %w",
		model.Line(r.FullName), model.ErrNotFound)
}

// idText returns the host's id as text, or "" if it is missing.
func idText(id int64) string {
	if id <= 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

// goodCommit returns an error if commit is not the id of a commit.
func goodCommit(commit string) (string, error) {
	if !commitID.MatchString(commit) {
		return "", fmt.Errorf("the host returned no commit of the branch: %w", model.ErrUnavailable)
	}
	return commit, nil
}

// goodChange returns an error if a change request has no number or head commit. It limits the
// length of untrusted texts.
func goodChange(c model.ChangeRequest) (model.ChangeRequest, error) {
	if c.Number <= 0 || !commitID.MatchString(c.HeadCommit) {
		return c, fmt.Errorf("the host returned no commit of the change request: %w", model.ErrNotFound)
	}
	if !commitID.MatchString(c.BaseCommit) {
		c.BaseCommit = ""
	}
	for _, s := range []*string{&c.Title, &c.Author, &c.HeadRef, &c.BaseRef, &c.WebURL} {
		*s = model.Shorten(model.Line(*s), 500)
	}
	if !strings.HasPrefix(c.WebURL, "https://") && !strings.HasPrefix(c.WebURL, "http://") {
		c.WebURL = ""
	}
	return c, nil
}

// appendGood appends a change request if it is valid.
func appendGood(list []model.ChangeRequest, c model.ChangeRequest) []model.ChangeRequest {
	if c, err := goodChange(c); err == nil {
		list = append(list, c)
	}
	return list
}

// unsupportedWhereMissing converts the error of an operation that the host does not have to
// ErrUnsupported.
func unsupportedWhereMissing(err error) error {
	var refused *HostError
	if errors.As(err, &refused) &&
		(refused.Status == http.StatusNotFound || refused.Status == http.StatusMethodNotAllowed) {
		return ErrUnsupported
	}
	return err
}

// unlessGone ignores the error that the object to delete does not exist.
func unlessGone(err error) error {
	if errors.Is(err, model.ErrNotFound) {
		return nil
	}
	return err
}

// good returns the valid repositories of a page.
func good[T any](base string, list []T, read func(T) model.Repository) []model.Repository {
	out := make([]model.Repository, 0, len(list))
	for _, r := range list {
		if r, fine := cleaned(base, read(r)); fine {
			out = append(out, r)
		}
	}
	return out
}
