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

// onlyGood refuses a repository whose name will not do.
func onlyGood(base string, r model.Repository) (model.Repository, error) {
	r, fine := cleaned(base, r)
	if !fine {
		return r, fmt.Errorf("the host's name of the repository will not do: %w", model.ErrNotFound)
	}
	return r, nil
}

// commitID is how hosts name a commit.
var commitID = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// sameRepository refuses what a host told of another repository than was meant: hosts that
// are asked by name may find another there, once the one that had it moved away.
func sameRepository(r model.Repository, hostID int64) error {
	if strconv.FormatInt(hostID, 10) == r.HostID {
		return nil
	}
	return fmt.Errorf("another repository is called %.200q at the host by now: %w",
		model.Line(r.FullName), model.ErrNotFound)
}

// idText is an id of a host as text; empty where the host told none.
func idText(id int64) string {
	if id <= 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

// goodCommit refuses what is no commit.
func goodCommit(commit string) (string, error) {
	if !commitID.MatchString(commit) {
		return "", fmt.Errorf("the host names no commit of the branch: %w", model.ErrUnavailable)
	}
	return commit, nil
}

// goodChange refuses a change request that names no commit, and bounds what others
// wrote.
func goodChange(c model.ChangeRequest) (model.ChangeRequest, error) {
	if c.Number <= 0 || !commitID.MatchString(c.HeadCommit) {
		return c, fmt.Errorf("the host names no commit of the change request: %w", model.ErrNotFound)
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

// appendGood adds a change request, where it names a commit.
func appendGood(list []model.ChangeRequest, c model.ChangeRequest) []model.ChangeRequest {
	if c, err := goodChange(c); err == nil {
		list = append(list, c)
	}
	return list
}

// unsupportedWhereMissing says of an operation that the host does not know that it
// cannot do it.
func unsupportedWhereMissing(err error) error {
	var refused *HostError
	if errors.As(err, &refused) &&
		(refused.Status == http.StatusNotFound || refused.Status == http.StatusMethodNotAllowed) {
		return ErrUnsupported
	}
	return err
}

// unlessGone forgives that what is to be removed is not there.
func unlessGone(err error) error {
	if errors.Is(err, model.ErrNotFound) {
		return nil
	}
	return err
}

// good are the repositories of a page that will do.
func good[T any](base string, list []T, read func(T) model.Repository) []model.Repository {
	out := make([]model.Repository, 0, len(list))
	for _, r := range list {
		if r, fine := cleaned(base, read(r)); fine {
			out = append(out, r)
		}
	}
	return out
}
