<?php
// Adds to each pair on standard input the sign of its comparison by Composer's Semver; leaves out what it does not read,
// and branches, which have no order.
require 'Composer/Semver/autoload.php';
use Composer\Semver\{Comparator, VersionParser};
$parser = new VersionParser();
while (($line = fgets(STDIN)) !== false) {
    [$a, $b] = explode("\t", rtrim($line, "\n"));
    try {
        $left = $parser->normalize($a);
        $right = $parser->normalize($b);
    } catch (UnexpectedValueException $e) {
        continue;
    }
    if (!ctype_digit($left[0]) || !ctype_digit($right[0])) {
        continue;
    }
    echo $a, "\t", $b, "\t", Comparator::greaterThan($left, $right) <=> Comparator::lessThan($left, $right), "\n";
}
