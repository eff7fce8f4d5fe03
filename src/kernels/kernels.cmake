# device code is embedded here
