package lockfile

import (
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readPubspecLock reads pubspec.lock. Packages of the SDK and of local folders are omitted because
// they have no version.
func readPubspecLock(l *lock) error {
	root, err := l.yaml()
	if err != nil {
		return err
	}
	switch packages := child(root, "packages"); {
	case packages == nil:
		return read.NotA("pubspec.lock", "it has no packages")
	case child(root, "sdks") == nil && child(root, "sdk") == nil:
		return read.CutOff("it lacks sdks after the packages")
	}
	for _, entry := range pairs(child(root, "packages")) {
		source := scalar(child(entry.value, "source"))
		if source == "sdk" || source == "path" {
			continue
		}
		kind := scalar(child(entry.value, "dependency"))
		d := model.Dependency{
			Name: entry.key.Value, Version: scalar(child(entry.value, "version")), Line: entry.key.Line,
			Transitivity: TransitivityOf(kind != "", strings.HasPrefix(kind, "direct")),
		}
		if sum := scalar(child(child(entry.value, "description"), "sha256")); read.IsHex(sum) {
			d.Hashes = []model.Hash{{Algorithm: "SHA-256", Hex: strings.ToLower(sum)}}
		}
		l.Add(d)
	}
	return nil
}
