package account

import (
	"fmt"
	"image/color"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// quiet is how many light squares a QR code has around it (ISO/IEC 18004).
const quiet = 4

// qrCode is a QR code as the path of an SVG image: a page may hold that, where its
// content policy admits no image that it brings along.
type qrCode struct {
	Size int    // squares on each side, with the quiet ones
	Path string // of the dark ones
}

// newQRCode draws a text.
func newQRCode(text string) (qrCode, error) {
	drawn, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return qrCode{}, fmt.Errorf("draw a QR code: %w", err)
	}
	side := drawn.Bounds().Dx()
	var b strings.Builder
	for y := range side {
		for x := range side {
			if drawn.At(x, y) == color.Black {
				fmt.Fprintf(&b, "M%d %dh1v1h-1z", x+quiet, y+quiet)
			}
		}
	}
	return qrCode{Size: side + 2*quiet, Path: b.String()}, nil
}
