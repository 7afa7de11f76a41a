struct Size {
  char bytes[3];
};
