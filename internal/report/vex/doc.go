// Package vex reads OpenVEX and contains the shared code for VEX documents of all formats.
package vex
