# Adds to each pair on standard input the sign of its comparison by Gem::Version; leaves out what it does not read.
STDIN.each_line(chomp: true) do |line|
  a, b = line.split("\t")
  next unless Gem::Version.correct?(a) && Gem::Version.correct?(b)
  puts [a, b, Gem::Version.new(a) <=> Gem::Version.new(b)].join("\t")
end
