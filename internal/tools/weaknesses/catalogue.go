package main

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// catalogue contains the fields used of MITRE's catalog.
type catalogue struct {
	XMLName    xml.Name `xml:"Weakness_Catalog"`
	Version    string   `xml:"Version,attr"`
	Date       string   `xml:"Date,attr"`
	Weaknesses []entry  `xml:"Weaknesses>Weakness"`
	Categories []entry  `xml:"Categories>Category"`
}

type entry struct {
	ID   int    `xml:"ID,attr"`
	Name string `xml:"Name,attr"`
}

// terms is the header of the list, which MITRE's terms of use require.
const terms = "# Common Weakness Enumeration (CWE), version %s of %s: " +
	"numbers and names of its weaknesses and categories.\n" +
	"# Copyright © 2006–%.4s, The MITRE Corporation. CWE and the CWE logo are trademarks of The MITRE Corporation.\n" +
	"# CWE Usage: MITRE hereby grants you a non-exclusive, royalty-free license to use CWE for research, " +
	"development, and commercial\n" +
	"# purposes. Any copy you make for such purposes is authorized on the condition that you reproduce MITRE's " +
	"copyright designation\n" +
	"# and this license in any such copy.\n" +
	"# Disclaimers: All documents and the information contained in the CWE are provided on an \"as is\" basis and " +
	"the contributor, the\n" +
	"# organization he/she represents or is sponsored by (if any), The MITRE Corporation, its board of trustees, " +
	"officers, agents, and\n" +
	"# employees, disclaim all warranties, express or implied, including but not limited to any warranty that the " +
	"use of the\n" +
	"# information therein will not infringe any rights or any implied warranties of merchantability or fitness for " +
	"a particular\n" +
	"# purpose and noninfringement. In no event shall they be liable for any claim, damages or other liability, " +
	"whether in an action\n" +
	"# of contract, tort or otherwise, arising from, out of or in connection with the information or the use or " +
	"other dealings in the\n" +
	"# CWE.\n"

// convert reads a catalog and writes the list, ordered by number.
func convert(r io.Reader, w io.Writer) error {
	var c catalogue
	if err := xml.NewDecoder(r).Decode(&c); err != nil {
		return err
	}
	entries := slices.Concat(c.Weaknesses, c.Categories)
	if c.Version == "" || len(c.Weaknesses) == 0 || len(c.Categories) == 0 {
		return errors.New("it has no version, no weaknesses or no categories")
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.ID, b.ID) })
	if _, err := fmt.Fprintf(w, terms, c.Version, c.Date, c.Date); err != nil {
		return err
	}
	for _, e := range entries {
		name := strings.Join(strings.Fields(e.Name), " ")
		if e.ID <= 0 || name == "" {
			return fmt.Errorf("entry %d has no number or no name", e.ID)
		}
		if _, err := fmt.Fprintf(w, "%d\t%s\n", e.ID, name); err != nil {
			return err
		}
	}
	return nil
}
