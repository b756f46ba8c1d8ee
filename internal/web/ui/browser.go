package ui

import (
	"fmt"
	"strings"
)

// browserName returns a short name of the browser and its system from a User-Agent header.
func browserName(agent string) string {
	find := func(words [][2]string, other string) string {
		for _, w := range words {
			if strings.Contains(agent, w[0]) {
				return w[1]
			}
		}
		return other
	}
	name := find([][2]string{
		{"Edg/", "Edge"},
		{"OPR/", "Opera"},
		{"Firefox/", "Firefox"},
		{"Chrome/", "Chrome"},
		{"Safari/", "Safari"},
		{"curl/", "curl"},
	}, "Another browser")
	system := find([][2]string{
		{"Android", "Android"},
		{"iPhone", "iOS"},
		{"iPad", "iOS"},
		{"Windows", "Windows"},
		{"Mac OS", "macOS"},
		{"Linux", "Linux"},
	}, "")
	if system == "" {
		return name
	}
	return fmt.Sprintf("%s on %s", name, system)
}
