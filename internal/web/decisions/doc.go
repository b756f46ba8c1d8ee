// Package decisions has the pages about exceptions, requests for exceptions, and VEX documents.
package decisions
